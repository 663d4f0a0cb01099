# The service in a slim image, as nobody special. Build it in the folder of the repository: docker build -t kron .
FROM python:3.13-slim AS build
COPY . /source
RUN pip wheel --no-cache-dir --wheel-dir /wheels "/source[service,postgres,otel]"

# The Kubernetes operator: docker build --target operator -t kron-operator:0.1.0 .
FROM python:3.13-slim AS build-operator
COPY . /source
RUN pip wheel --no-cache-dir --wheel-dir /wheels "/source[kubernetes,postgres]"

FROM python:3.13-slim AS operator
COPY --from=build-operator /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels "kron-py[kubernetes,postgres]" && rm -r /wheels
USER 65532:65532
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
EXPOSE 8080
ENTRYPOINT ["kron"]
CMD ["operator", "run"]

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels "kron-py[service,postgres,otel]" && rm -r /wheels
USER 65532:65532
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 KRON_LISTEN=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/healthz', timeout=3)"]
ENTRYPOINT ["kron"]
CMD ["serve"]
