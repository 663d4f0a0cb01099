"""A Django project in a folder, with one app, and its `manage.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from psycopg.conninfo import conninfo_to_dict

FILES = {
    "manage.py": """
        import os, sys
        from django.core.management import execute_from_command_line
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
        execute_from_command_line(sys.argv)
    """,
    "settings.py": """
        import json, os
        SECRET_KEY = "test"
        DEBUG = True
        ALLOWED_HOSTS = ["*"]
        USE_TZ = True
        ROOT_URLCONF = "urls"
        INSTALLED_APPS = ["shop", "kron.integrations.django"]
        DATABASES = {"default": json.loads(os.environ["DATABASE"])}
        DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
        WSGI_APPLICATION = "wsgi.application"
        if "KRON" in os.environ:
            KRON = json.loads(os.environ["KRON"])
    """,
    "wsgi.py": """
        import os
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
        from django.core.wsgi import get_wsgi_application
        application = get_wsgi_application()
    """,
    "urls.py": """
        import os, threading
        from django.http import JsonResponse
        from django.urls import path
        from django.views.decorators.csrf import csrf_exempt
        from kron.integrations.django import scheduler
        from shop.tasks import slow

        @csrf_exempt
        def create(request, name):
            scheduler.sync.create(name, slow, every="1h", args=(name, 1.5))
            return JsonResponse({"key": scheduler.sync.trigger(name)})

        async def jobs(request):
            return JsonResponse({"jobs": [job.name for job in await scheduler.jobs()], "process": os.getpid()})

        def in_threads(request):
            found = []
            threads = [threading.Thread(target=lambda: found.append(len(scheduler.sync.jobs()))) for _ in range(8)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            return JsonResponse({"found": found})

        urlpatterns = [path("", jobs), path("jobs/<name>", create), path("threads", in_threads)]
    """,
    "shop/__init__.py": "",
    "shop/models.py": """
        from django.db import models

        class Note(models.Model):
            text = models.CharField(max_length=100)
            process = models.IntegerField()
    """,
    "shop/tasks.py": """
        import os, time
        from django.db import connection
        from kron.integrations.django import scheduler
        from shop.models import Note

        def note(text):
            Note.objects.create(text=text, process=os.getpid())

        @scheduler.job("* * * * * *", dialect="service")
        def tick():
            note("tick")

        @scheduler.job("0 9 1 1 *", dialect="posix", timezone="UTC")
        async def yearly():
            await Note.objects.acreate(text="yearly", process=os.getpid())

        @scheduler.task
        def slow(name, seconds):
            note(f"begin {name}")
            time.sleep(seconds)
            note(f"end {name}")
    """,
}


class Project:
    """A Django project. The app `shop` declares jobs, and notes in the database what they do."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment
        for name, text in FILES.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")

    def manage(self, *words: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """What a management command printed."""
        return subprocess.run(self.command(*words), **self.options(), capture_output=True, timeout=timeout, check=False)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """A management command that runs until it is stopped."""
        return subprocess.Popen(
            self.command(*words), **self.options(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-W", "error::ResourceWarning", "manage.py", *words]

    def options(self) -> dict[str, object]:
        path = os.pathsep.join([str(self.folder), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1", **self.environment}
        return {"cwd": self.folder, "env": environment, "text": True}


def database_of(url: str, **more: object) -> dict[str, object]:
    """The entry of DATABASES for a database."""
    parts = conninfo_to_dict(url)
    names = {"NAME": "dbname", "USER": "user", "HOST": "host", "PORT": "port"}
    return {"ENGINE": "django.db.backends.postgresql", **{key: parts.get(name) for key, name in names.items()}, **more}
