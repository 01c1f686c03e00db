"""provost from Python: runs, approvals and answers, through the command line's ``--json``.

No dependency but Python 3.9 and the ``provost`` binary. ``PROVOST_BIN`` names another one.

    from provost import Workspace
    run = Workspace("shop").run("Refund 2000 cents of pay-1")
    while run.waiting:
        print(run.waiting[0])
        run = run.approve()
    print(run.status, run.answer)
"""

import json
import os
import subprocess

__all__ = ["Error", "Run", "Timeout", "Workspace"]

# The exit codes of runs: ended well, ended otherwise, waits for a person, in doubt.
_RUN_EXITS = (0, 1, 3, 4)


class Error(Exception):
    """provost refused, or cannot work: its message, its hint and its exit code."""

    def __init__(self, message, hint=None, exit=2):
        super().__init__(message if hint is None else f"{message} (hint: {hint})")
        self.message, self.hint, self.exit = message, hint, exit


class Timeout(Error):
    """provost did not come back in time. It was asked to stop, and calls in flight have settled."""


class Workspace:
    """A workspace: the directory with ``provost.toml``."""

    def __init__(self, path=".", binary=None, timeout=None):
        self.path, self.timeout = os.fspath(path), timeout
        self.binary = binary or os.environ.get("PROVOST_BIN", "provost")

    def run(self, goal, **options):
        """Begins a run and drives it until it ends or waits. Options are those of the verb:
        ``ask="plan"``, ``again=True``, ``detach=True``."""
        return Run(self, self._json("run", goal, **options))

    def apply(self, plan, **options):
        """Executes a plan file."""
        return Run(self, self._json("apply", os.fspath(plan), **options))

    def get(self, run):
        """A run by its id, or the beginning of it."""
        return Run(self, self._json("show", run))

    def runs(self, **filters):
        """The runs, newest first, as ``runs --json`` lists them: ``status="failed", since="24h"``."""
        return self._json("runs", **filters)["runs"]

    def _json(self, verb, *words, **options):
        command = [self.binary, "-C", self.path, verb, "--json"]
        for name, value in options.items():
            flag = "--" + name.replace("_", "-")
            if value is True:
                command.append(flag)
            elif value is not None and value is not False:
                command.append(f"{flag}={value}")
        # Why behind `--`: a goal that begins with a dash is a goal.
        command += ["--", *words]
        code, out, err = self._call(command)
        try:
            found = json.loads(out) if out.strip() else None
        except ValueError:
            found = None
        if code not in _RUN_EXITS or found is None or "error" in found:
            raise self._error(code, found, err)
        return found

    def _call(self, command):
        try:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, encoding="utf-8",
            )
        except OSError as error:
            raise Error(f"{self.binary} cannot be started: {error.strerror}") from error
        try:
            out, err = child.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            # Why not killed: the first signal lets calls in flight settle.
            child.terminate()
            child.communicate()
            raise Timeout(f"no answer within {self.timeout} s") from None
        return child.returncode, out, err

    def _error(self, code, found, err):
        if found and "error" in found:
            return Error(found["error"], found.get("hint"), code)
        lines = [line for line in err.splitlines() if line.strip()]
        part = lambda name: next((l.split(": ", 1)[1] for l in lines if l.startswith(name)), None)
        return Error(part("error") or "\n".join(lines) or f"exit {code}", part("hint"), code)


class Run:
    """A run as it was when provost last looked at it."""

    def __init__(self, workspace, found):
        self.workspace, self.json = workspace, found

    id = property(lambda self: self.json["id"])
    status = property(lambda self: self.json["status"])

    @property
    def answer(self):
        """The answer in plain text, a claim a line; ``json["answer"]`` has what each one cites."""
        claims = self.json.get("answer") or []
        return "\n".join("".join(span["text"] for span in one["spans"]) for one in claims)

    @property
    def waiting(self):
        """What it waits for: kind, digest, step, operation, and the command that gives it."""
        return self.json.get("waits") or []

    def approve(self, *steps, wait=None):
        """Approves what waits first, or ``wait``, and drives on; of a plan or a list only ``steps``."""
        return self._say("approve", wait, "approval", *steps)

    def reject(self, reason, wait=None):
        """Rejects what waits first, or ``wait``; the planner may read the reason."""
        return self._say("reject", wait, "approval", reason=reason)

    def answer_with(self, value, wait=None):
        """Answers the question that waits first, or ``wait``."""
        text = value if isinstance(value, str) else json.dumps(value)
        return self._say("answer", wait, "answer", text)

    def resume(self):
        """Drives on."""
        return Run(self.workspace, self.workspace._json("resume", self.id))

    def _say(self, verb, wait, kind, *words, **options):
        wait = wait or next((one for one in self.waiting if one["kind"] == kind), None)
        if wait is None:
            raise Error(f"run {self.id} waits for no {kind}: it is {self.status}")
        about = f"{self.id}@{wait['digest'].split(':')[-1][:16]}"
        return Run(self.workspace, self.workspace._json(verb, about, *words, **options))

    def __repr__(self):
        return f"<provost run {self.id}: {self.status}>"
