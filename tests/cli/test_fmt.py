import json

from kron.apps.cli import main


def test_a_schedule_is_written_in_its_canonical_form(kron):
    assert kron("fmt", " */5  9-17 * *   1-5 @win(after,90m)").out == "*/5 9-17 * * MON-FRI @win(after,1h30m)\n"


def test_lowering_to_posix_drops_names_and_steps(kron):
    assert kron("fmt", "--to", "posix", "*/14 0 */14 * MON-FRI").out == "0,14,28,42,56 0 1,15,29 * 1-5\n"
    result = kron("fmt", "--to", "posix", "0 0 * * * @win(after,3h)")
    assert result.status == 1
    assert "cannot be expressed in strict POSIX cron" in result.err


FILE = '# keep  me\n\n0  0 * * 1-5   name=a command="x  y"   user=root\r\n0 0 1 1 * name=b command=z'
NEAT = '# keep  me\n\n0 0 * * MON-FRI name=a command="x  y"   user=root\r\n0 0 1 JAN * name=b command=z'


def test_a_file_keeps_its_comments_and_all_that_follows_the_schedules(kron, krontab):
    path = krontab("")
    path.write_bytes(FILE.encode())
    assert kron("fmt", "-f", str(path)).out == NEAT
    assert kron("fmt", "-f", str(path), "--check").status == 1
    path.chmod(0o640)
    assert kron("fmt", "-f", str(path), "--write").status == 0
    assert path.read_bytes() == NEAT.encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in path.parent.iterdir()] == ["krontab"]
    assert kron("fmt", "-f", str(path), "--check").status == 0


def test_a_file_with_errors_is_left_alone(kron, krontab):
    path = krontab("0 99 * * * name=a command=x\n")
    result = kron("fmt", "-f", str(path), "--write")
    assert result.status == 1
    assert path.read_text() == "0 99 * * * name=a command=x\n"


def test_json_holds_the_words_too(kron):
    found = json.loads(kron("fmt", "0 9 * * 1-5", "--output", "json").out)
    assert found == {"text": "0 9 * * MON-FRI", "english": "At 09:00 from Monday to Friday, UTC."}


def test_a_schedule_is_written_for_another_scheduler(kron):
    assert kron("fmt", "--to", "quartz", "0 9 * * 1-5").out == "0 0 9 ? * MON-FRI\n"
    assert kron("fmt", "--to", "aws", "0 9 * * 1-5").out == "cron(0 9 ? * MON-FRI *)\n"
    assert kron("fmt", "--dialect", "quartz", "--to", "rrule", "0 0 9 LW * ?").out.startswith("DTSTART:1970")
    result = kron("fmt", "--to", "aws", "0 9 * * * @win(after,1h)")
    assert result.status == 1
    assert "error[NOT_SAYABLE]" in result.err
    assert "it would lose the window (@win)" in result.err


def test_a_schedule_of_another_scheduler_is_shown_in_canonical_form(kron):
    assert kron("fmt", "--dialect", "vixie", "0 0 */2 * MON").out == "0 0 */2 * MON @days(match=both)\n"
    assert kron("fmt", "--dialect", "jenkins", "--identity", "team/build", "H H(0-7) * * *").out == "26 4 * * *\n"


def test_a_file_is_written_for_cron_only(kron, krontab):
    result = kron("fmt", "-f", str(krontab("0 0 * * * name=a command=b\n")), "--to", "quartz")
    assert result.status == 2
    assert "--to quartz prints one schedule" in result.err


def test_a_rate_for_eventbridge_can_be_pasted_and_its_start_is_a_note(capsys):
    assert main(["fmt", "--dialect", "plus", "--to", "aws", "every 90m from 2026-01-01T00:00"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "rate(90 minutes)\n"
    assert "2026-01-01T00:00:00Z" in printed.err
