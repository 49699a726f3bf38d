"""Runs pytest or unittest and writes the result of each test to a file of its own.

The file is opened, and everything that is needed to write to it is bound, before any code of the
workspace is loaded. Each line begins with a digest over a key, its number and its text.
"""

import hashlib
import json
import os
import sys

KEY = "@KEY@"
CANARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "@CANARY@")
PASSING = "test_@PASSING@"
FAILING = "test_@FAILING@"
CACHE = "@CACHE@"
MISSING = 86


def reporter(results):
    """A function that writes one line, from this process only."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
    file = os.open(results, flags, 0o600)
    write, getpid, digest, dumps = os.write, os.getpid, hashlib.sha256, json.JSONEncoder().encode
    own, key, count = getpid(), KEY, 0

    def report(kind, **facts):
        nonlocal count
        if getpid() != own:
            return
        text = dumps({"kind": kind, **facts})
        mac = digest((key + str(count) + text + key).encode()).hexdigest()
        count += 1
        left = (mac + " " + text + "\n").encode()
        while left:
            left = left[write(file, left) :]

    return report


def add_paths(outside=False):
    """Folders of PYTHONPATH and the workspace, behind the standard library, so that no file of them
    replaces a module of it. `outside`: only folders that the workspace does not contain.

    Bytecode of what is loaded from then on is looked for where none is. That of the runner was there
    before the target ran."""
    if not outside:
        sys.pycache_prefix = CACHE
    own = os.getcwd()
    added = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    added = [os.path.abspath(path) for path in added] + [own]
    if outside:
        inside = ("/workspace/", own + "/")
        added = [path for path in added if not (path + "/").startswith(inside)]
    packages = ("site-packages", "dist-packages")
    at = [i for i, path in enumerate(sys.path) if os.path.basename(path) in packages]
    at = at[0] if at else len(sys.path)
    sys.path[at:at] = [path for path in added if path not in sys.path]


def first_line(text):
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return lines[0][:500] if lines else ""


def last_line(text):
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return lines[-1][:500] if lines else ""


def run_pytest(report, args):
    try:
        import pytest
    except ImportError:
        report("missing", what="pytest")
        return MISSING
    report("begin", framework="pytest " + pytest.__version__)

    class Reporting:
        def __init__(self):
            self.phases = {}
            self.failed = 0
            self.canaries = 0

        @pytest.hookimpl(tryfirst=True)
        def pytest_load_initial_conftests(self):
            add_paths()

        @pytest.hookimpl(tryfirst=True)
        def pytest_configure(self, config):
            # The canaries must be reached.
            config.option.maxfail = 0

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_collection_modifyitems(self, session, items):
            yield
            import pathlib

            for item in items:
                report("collected", id=item.nodeid)
            module = pytest.Module.from_parent(session, path=pathlib.Path(CANARY))
            for name in (PASSING, FAILING):
                items.append(pytest.Function.from_parent(module, name=name))
            tests = module.ihook.pytest_pycollect_makeitem(
                collector=module, name="Canary", obj=module.obj.Canary
            )
            items.extend(tests.collect())

        def pytest_collectreport(self, report):
            reported(report.nodeid, report.outcome, report.longrepr)

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_logreport(self, report):
            if report.outcome in ("passed", "failed", "skipped"):
                self.phases.setdefault(report.nodeid, []).append(report)

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_logfinish(self, nodeid):
            phases = self.phases.pop(nodeid, [])
            broken = [phase for phase in phases if phase.outcome == "failed"]
            called = [phase for phase in phases if phase.when == "call"]
            if broken:
                status, shown = "failed", broken[0].longrepr
            elif called and called[-1].outcome == "passed":
                status, shown = "passed", None
            elif phases:
                status, shown = "skipped", phases[0].longrepr
            else:
                return
            if is_canary(nodeid):
                self.canaries += status == "failed"
            else:
                self.failed += status == "failed"
            report("test", id=nodeid, status=status, message=message_of(shown))

        @pytest.hookimpl(tryfirst=True)
        def pytest_sessionfinish(self, session):
            """The canaries are not shown."""
            terminal = session.config.pluginmanager.get_plugin("terminalreporter")
            for reports in getattr(terminal, "stats", {}).values():
                reports[:] = [one for one in reports if not is_canary(getattr(one, "nodeid", ""))]

    def is_canary(nodeid):
        return str(nodeid).endswith(("::" + PASSING, "::" + FAILING))

    def message_of(shown):
        crash = getattr(shown, "reprcrash", None)
        if crash is not None:
            return first_line(crash.message)
        if isinstance(shown, tuple):
            return first_line(shown[-1])
        return last_line(shown) if shown is not None else ""

    def reported(nodeid, outcome, shown):
        if outcome == "failed":
            reporting.failed += 1
            report("broken", id=nodeid, message=message_of(shown))
        elif outcome == "skipped":
            report("test", id=nodeid, status="skipped", message=message_of(shown))

    reporting = Reporting()
    code = int(pytest.main(args, plugins=[reporting]))
    # A canary fails, so that pytest says 1.
    if code == 1 and reporting.failed == 0 and reporting.canaries:
        code = 0
    report("end", exit=code)
    return code


def run_unittest(report, args):
    import importlib.util
    import unittest

    report("begin", framework="unittest " + sys.version.split()[0])
    add_paths()

    class Reporting(unittest.TestResult):
        def __init__(self):
            super().__init__()
            self.of_test = {}
            self.failed = 0

        def startTest(self, test):
            super().startTest(test)
            self.of_test[test.id()] = ["", ""]

        def note(self, test, status, message=""):
            ranks = ("", "passed", "skipped", "failed")
            noted = self.of_test.get(test.id())
            if noted is None:
                # Of a class or module that could not be set up.
                self.say(test.id(), status, message)
            elif ranks.index(status) > ranks.index(noted[0]):
                noted[:] = [status, message]

        def say(self, name, status, message):
            self.failed += status == "failed" and not name.endswith("." + FAILING)
            report("test", id=name, status=status, message=message)

        def stopTest(self, test):
            super().stopTest(test)
            status, message = self.of_test.pop(test.id(), ["", ""])
            self.say(test.id(), status or "failed", message)

        def addSuccess(self, test):
            self.note(test, "passed")

        def addFailure(self, test, err):
            super().addFailure(test, err)
            self.note(test, "failed", first_line(err[1]) or err[0].__name__)

        def addError(self, test, err):
            super().addError(test, err)
            self.note(test, "failed", err[0].__name__ + ": " + first_line(err[1]))

        def addSkip(self, test, reason):
            self.note(test, "skipped", first_line(reason))

        def addExpectedFailure(self, test, err):
            self.note(test, "skipped", "an expected failure")

        def addUnexpectedSuccess(self, test):
            self.note(test, "failed", "an unexpected success")

        def addSubTest(self, test, subtest, err):
            if err is not None:
                super().addSubTest(test, subtest, err)
                self.note(test, "failed", first_line(err[1]) or err[0].__name__)

        def stop(self):
            """All tests are run, whatever fails."""

    class Runner:
        def __init__(self, **_options):
            """`-v`, `-f` and the like do not change what is run."""

        def run(self, tests):
            result = Reporting()
            for test in each(tests):
                report("collected", id=test.id())
            spec = importlib.util.spec_from_file_location("canary_" + PASSING, CANARY)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            canaries = [module.Canary(name) for name in (PASSING, FAILING)]
            unittest.TestSuite([tests, unittest.TestSuite(canaries)])(result)
            print("%d tests, %d failed" % (result.testsRun - 2, result.failed))
            for _test, trace in (result.failures + result.errors)[:100]:
                if FAILING not in str(_test):
                    print(trace)
            code = 1 if result.failed else 0
            report("end", exit=code)
            result.code = code
            return result

    def each(tests):
        try:
            inner = iter(tests)
        except TypeError:
            yield tests
            return
        for test in inner:
            yield from each(test)

    main = unittest.main(
        module=None, argv=["python -m unittest", *args], testRunner=Runner, exit=False
    )
    return main.result.code


def main():
    leave, out, err = os._exit, sys.stdout, sys.stderr
    mode, results, args = sys.argv[1], sys.argv[2], sys.argv[3:]
    report = reporter(results)
    add_paths(outside=True)
    try:
        code = {"pytest": run_pytest, "unittest": run_unittest}[mode](report, args)
    except SystemExit as end:
        print("the tests called sys.exit(%r)" % (end.code,), file=err)
        code = end.code if isinstance(end.code, int) and end.code else 1
    for stream in (out, err):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    leave(code)


if __name__ == "__main__":
    main()
