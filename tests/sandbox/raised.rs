//! What a candidate raises reaches the tests as far as they name it, and no machinery of Python
//! swallows it.

use std::time::Duration;

use eval_sandbox::{
    ProgramLimits, RunFailure, Sandbox, SandboxConfig, TestJob, TestMode, TestReport, TestVerdict,
};

/// `None`, reported by name, where no tier works.
async fn sandbox() -> Option<Sandbox> {
    match Sandbox::open(SandboxConfig::new(
        env!("CARGO_BIN_EXE_eval-harness").into(),
    ))
    .await
    {
        Ok(sandbox) => Some(sandbox),
        Err(reason) => {
            println!("SKIPPED: {reason}");
            None
        }
    }
}

macro_rules! sandbox_or_skip {
    () => {
        match sandbox().await {
            Some(sandbox) => sandbox,
            None => return,
        }
    };
}

async fn run(sandbox: &Sandbox, code: &str, tests: &str) -> TestReport {
    let job = TestJob {
        code: code.into(),
        tests: vec![tests.into()],
        limits: ProgramLimits {
            wall: Duration::from_secs(30),
            ..ProgramLimits::default()
        },
        ..TestJob::default()
    };
    sandbox.run_tests(job).await.unwrap()
}

/// The class that ended the tests; `None` for any verdict but that the candidate raised.
fn raised(verdict: &TestVerdict) -> Option<String> {
    match verdict {
        TestVerdict::CandidateRaised(raised) => Some(raised.type_name.clone()),
        TestVerdict::Failed(RunFailure::Exited { .. }) => Some("SystemExit".to_owned()),
        _ => None,
    }
}

/// The exceptions to which a protocol gives a meaning, and tests that route the candidate through
/// it: each passes where the exception is swallowed.
const MACHINERY: [(&str, &str); 30] = [
    ("StopIteration", "assert all(map(f, [1]))"),
    (
        "StopIteration",
        "for g, w in zip(map(f, [1,2]), [2,4]):\n  assert g == w",
    ),
    ("StopIteration", "assert next(map(f, [1]), 5) == 5"),
    (
        "IndexError StopIteration",
        "class S:\n  def __getitem__(self, i): return f(i)\nfor x in S(): assert x == 1",
    ),
    (
        "IndexError StopIteration",
        "class S:\n  def __getitem__(self, i): return f(i)\nassert 5 not in S()",
    ),
    (
        "AttributeError",
        "class S:\n  @property\n  def v(self): return f(1)\nassert not hasattr(S(), \"v\")",
    ),
    (
        "AttributeError",
        "class S:\n  @property\n  def v(self): return f(1)\nassert getattr(S(), \"v\", 3) == 3",
    ),
    (
        "AttributeError",
        "class S:\n  @property\n  def v(self): return f(1)\n  def __getattr__(self, n): return 3\nassert S().v == 3",
    ),
    (
        "StopIteration",
        "for x in iter(lambda: f(1), 3): assert x == 2",
    ),
    (
        "KeyError TypeError",
        "class S(dict):\n  def __missing__(self, k): return f(k)\nassert S().get(1, 4) == 4 and S()[1] == 4",
    ),
    (
        "KeyError",
        "import collections\nclass S(collections.abc.Mapping):\n  def __getitem__(self, k): return f(k)\n  def __iter__(self): return iter([1])\n  def __len__(self): return 1\nassert S().get(1, 4) == 4\nassert 1 not in S()",
    ),
    (
        "IndexError StopIteration",
        "import collections.abc\nclass S(collections.abc.Sequence):\n  def __getitem__(self, k): return f(k)\n  def __len__(self): return 3\nassert list(S()) == []\nassert 4 not in S()",
    ),
    (
        "KeyError",
        "import collections\nclass D(dict):\n  def __missing__(self, k): return f(k)\nassert collections.ChainMap(D(), {1: 2})[1] == 2",
    ),
    (
        "TypeError OverflowError ValueError RecursionError",
        "class S:\n  def __len__(self): return f(1)\n  def __iter__(self): return iter([])\nassert list(S()) == []",
    ),
    (
        "TypeError OverflowError ValueError",
        "class S:\n  def __length_hint__(self): return f(1)\n  def __iter__(self): return iter([])\nassert list(S()) == []",
    ),
    (
        "GeneratorExit",
        "class S:\n  def __enter__(self): return 1\n  def __exit__(self, *a): return True\nwith S(): assert f(1) == 2",
    ),
    (
        "StopIteration",
        "class S:\n  def __iter__(self): return self\n  i = 0\n  def __next__(self):\n    self.i += 1\n    if self.i > 3: raise StopIteration\n    return f(self.i)\nfor x in S(): assert x == 1",
    ),
    (
        "IndexError StopIteration",
        "class S:\n  def __getitem__(self, i):\n    if i > 3: raise IndexError\n    return f(i)\nfor x in S(): assert x == 1",
    ),
    (
        "GeneratorExit RuntimeError",
        "def gen():\n  try:\n    yield 1\n  finally:\n    f(1)\ng = gen()\nnext(g)\ng.close()",
    ),
    (
        "ValueError SystemExit KeyboardInterrupt",
        "class S:\n  def __del__(self): f(1)\nS()",
    ),
    (
        "SystemExit ValueError",
        "import threading\nt = threading.Thread(target=f, args=(1,))\nt.start(); t.join()",
    ),
    (
        "StopIteration",
        "import heapq\nassert list(heapq.merge(map(f, [1]), [])) == []",
    ),
    (
        "KeyError",
        "import string\nclass D(dict):\n  def __missing__(self, k): return f(k)\nassert string.Template(\"$a\").safe_substitute(D()) == \"$a\"",
    ),
    (
        "TypeError AttributeError",
        "class S:\n  def __eq__(self, o): return f(1)\nassert not ([S()] == [1])",
    ),
    (
        "TypeError NotImplementedError",
        "class S:\n  def __add__(self, o): return f(1)\n  def __radd__(self, o): return 3\nassert S() + S() == 3",
    ),
    (
        "OverflowError TypeError ValueError",
        "class S:\n  def __index__(self): return f(1)\nassert [1,2][:S()] == 3",
    ),
    (
        "TypeError",
        "class S:\n  def __bool__(self): return f(1)\nassert not S()",
    ),
    (
        "TypeError KeyError",
        "class S:\n  def __contains__(self, x): return f(x)\nassert 1 not in S()",
    ),
    (
        "TypeError KeyError",
        "class S:\n  def __hash__(self): return f(1)\nassert S() not in {}",
    ),
    (
        "StopAsyncIteration StopIteration",
        "import asyncio\nasync def main():\n  class A:\n    def __aiter__(self): return self\n    async def __anext__(self): return f(1)\n  async for x in A(): assert x == 2\nasyncio.run(main())",
    ),
];
#[tokio::test]
async fn exceptions_that_tests_do_not_name_end_them() {
    let sandbox = sandbox_or_skip!();
    for (meaningful, tests) in MACHINERY {
        for exception in meaningful
            .split(' ')
            .chain(["ValueError", "AssertionError"])
        {
            let code = format!("def f(*a): raise {exception}");
            let report = run(&sandbox, &code, tests).await;
            assert_eq!(
                raised(&report.verdict).as_deref(),
                Some(exception),
                "{tests}: {:?}",
                report.verdict
            );
            assert_eq!(report.mode, TestMode::Split, "{tests}");
        }
    }
}

/// The tests expect the exception of one call. Of another call, the interpreter swallows it.
#[tokio::test]
async fn swallowed_exceptions_that_tests_name_elsewhere_fail() {
    let sandbox = sandbox_or_skip!();
    for (meaningful, tests) in MACHINERY {
        // A context manager that hides every exception hides wrong answers too: nothing is expected
        // of the candidate there.
        if tests.contains("__exit__") {
            continue;
        }
        for exception in meaningful.split(' ') {
            let code = format!("def f(*a): raise {exception}");
            let tests = format!("try: f(0)\nexcept {exception}: pass\nelse: assert False\n{tests}");
            let verdict = run(&sandbox, &code, &tests).await.verdict;
            // A generator turns StopIteration into a RuntimeError of its own.
            let converted =
                matches!(&verdict, TestVerdict::TestRaised(raised) if raised.is("RuntimeError"));
            let found = raised(&verdict);
            assert!(
                converted || found.as_deref() == Some(exception),
                "{tests}: {verdict:?}"
            );
        }
    }
}

/// An exception has only the classes that the tests name, whatever bases or name the candidate
/// gives it.
#[tokio::test]
async fn several_bases_and_borrowed_names_open_no_protocol() {
    let sandbox = sandbox_or_skip!();
    let expect = "try: f(-1)\nexcept ValueError: pass\nelse: assert False\n";
    let uses = [
        "for got in map(f, [1]): assert got == 1",
        "class S:\n  def __getitem__(self, i): return f(i)\nassert 5 not in S()",
        "class S:\n  @property\n  def v(self): return f(1)\nassert not hasattr(S(), 'v')",
        "class S:\n  def __length_hint__(self): return f(1)\n  def __iter__(self): return iter([])\nassert list(S()) == []",
    ];
    let codes = [
        "class X(StopIteration, ValueError): pass\ndef f(x): raise X",
        "class X(ValueError, IndexError): pass\ndef f(x): raise X",
        "class X(AttributeError, TypeError, ValueError): pass\ndef f(x): raise X",
        "class StopIteration(ValueError): pass\ndef f(x): raise StopIteration",
        "class X(ValueError): pass\nX.__name__ = 'IndexError'\ndef f(x): raise X",
        "class M(type):\n  def mro(c): return (c, ValueError, StopIteration, Exception, BaseException, object) if 0 else type.mro(c)\n\
         class X(ValueError, StopIteration, metaclass=M): pass\ndef f(x): raise X",
        "import os\nn = 0\ndef f(x):\n  global n\n  while True:\n    n += 1\n    \
         os.write(4, b'{\"i\": %d, \"e\": {\"type\": \"X\", \"mro\": [\"StopIteration\", \"IndexError\", \"AttributeError\", \
         \"TypeError\", \"ValueError\"], \"message\": \"\", \"args\": []}}\\n' % n)\n    \
         if not os.read(4, 1 << 16): os._exit(0)",
    ];
    for code in codes {
        for tests in uses {
            let verdict = run(&sandbox, code, &format!("{expect}{tests}"))
                .await
                .verdict;
            let failed = raised(&verdict).is_some()
                || matches!(verdict, TestVerdict::Failed(RunFailure::Forged { .. }));
            assert!(failed, "{code}\n{tests}: {verdict:?}");
        }
    }
}

/// `BaseException`s are no `Exception`s on the other side either.
#[tokio::test]
async fn the_end_of_the_program_is_no_expected_exception() {
    let sandbox = sandbox_or_skip!();
    for exception in [
        "SystemExit",
        "KeyboardInterrupt",
        "GeneratorExit",
        "BaseExceptionGroup('g', [SystemExit()])",
    ] {
        let code = format!("def f(x): raise {exception}");
        let verdict = run(&sandbox, &code, "try: f(1)\nexcept Exception: pass")
            .await
            .verdict;
        assert!(raised(&verdict).is_some(), "{exception}: {verdict:?}");
    }
    // What the tests raise themselves they do not expect.
    let own = "def end():\n  raise SystemExit\ntry: f(1)\nexcept KeyError: end()\n";
    assert_eq!(
        raised(
            &run(&sandbox, "import sys\ndef f(x): sys.exit(0)", own)
                .await
                .verdict
        )
        .as_deref(),
        Some("SystemExit")
    );
}

const NEGATIVE: &str = "def f(x):\n  if x < 0: raise ValueError('neg')\n  return x\n";

/// Candidates that raise what their tests expect, in the ways in which tests say so.
const HONEST: [(&str, &str); 69] = [
    (
        "import re\ndef f(x): return re.match('a', x)",
        "m = f('a')\nassert m\ntry:\n  f(None)\n  assert False\nexcept TypeError: pass",
    ),
    (
        NEGATIVE,
        "class T:\n  ok = False\n  try: f(-1)\n  except ValueError: ok = True\nassert T.ok",
    ),
    (
        NEGATIVE,
        "class Expect:\n  def __init__(self, t): self.t = t\n  def __enter__(self): return self\n  def __exit__(self, t, e, tb): return t is self.t\n\
         def expect(t): return Expect(t)\nmanager = Expect(ValueError)\nwith manager: f(-1)\nwith expect(ValueError): f(-2)\nassert f(1) == 1",
    ),
    (
        NEGATIVE,
        "import contextlib\nwith contextlib.ExitStack() as stack:\n  stack.enter_context(contextlib.suppress(ValueError))\n  f(-1)\nassert f(1) == 1",
    ),
    (
        NEGATIVE,
        "import threading\nlock = threading.Lock()\ntry:\n  with lock: f(-1)\n  assert False\nexcept ValueError: pass\nassert f(1) == 1",
    ),
    (
        NEGATIVE,
        "import asyncio\nasync def main(): return await asyncio.gather(asyncio.to_thread(f, -1), asyncio.to_thread(f, 1), return_exceptions=True)\n\
         r = asyncio.run(main())\nassert r[1] == 1 and type(r[0]) is ValueError",
    ),
    (
        NEGATIVE,
        "from multiprocessing.pool import ThreadPool\nwith ThreadPool(1) as pool:\n  r = pool.apply_async(f, (-1,))\n  r.wait()\n  \
         assert not r.successful()\n  try: pool.map(f, [1, -1])\n  except ValueError: pass\n  else: assert False\nassert f(1) == 1",
    ),
    (
        NEGATIVE,
        "import logging\nlogging.disable(60)\ntry: f(-1)\nexcept ValueError: logging.exception('negative')\nelse: assert False\nassert f(1) == 1",
    ),
    (
        NEGATIVE,
        "import unittest\nclass T(unittest.TestCase):\n  def test_a(self):\n    for x in (-1, -2):\n      with self.subTest(x=x):\n        \
         with self.assertRaises((ValueError, TypeError)): f(x)\n  @unittest.expectedFailure\n  def test_b(self): f(-1)\n\
         r = unittest.TestResult()\nunittest.defaultTestLoader.loadTestsFromTestCase(T).run(r)\nassert r.wasSuccessful() and r.testsRun == 2, r.errors",
    ),
    (
        "import json\ndef f(x): return json.loads(x)",
        "from json.decoder import JSONDecodeError as E\ntry: f('{')\nexcept E as e: assert 'line 1' in str(e)\nelse: assert False",
    ),
    (
        "import json\ndef f(x): return json.loads(x)",
        "import json.decoder as d\nE = d.JSONDecodeError\ntry: f('{')\nexcept E as e: assert 'line 1' in str(e)\nelse: assert False",
    ),
    (
        "def f(x): raise ExceptionGroup('g', [ValueError('a')]) if x else ValueError",
        "import asyncio\nasync def g(): f(0)\nasync def main():\n  async with asyncio.TaskGroup() as t: t.create_task(g())\n\
         seen = []\ntry: asyncio.run(main())\nexcept* ValueError: seen.append(1)\nassert seen == [1]",
    ),
    (
        NEGATIVE,
        "try:\n  f(-1)\n  assert False\nexcept ValueError: pass\nassert f(1) == 1",
    ),
    (
        NEGATIVE,
        "try:\n  f(-1)\n  assert False\nexcept Exception as e:\n  assert str(e) == \"neg\"\nassert f(1) == 1",
    ),
    (
        NEGATIVE,
        "try:\n  f(-1)\n  assert False, 1\nexcept (TypeError, ValueError) as e:\n  assert type(e) is ValueError and repr(e) == \"ValueError('neg')\"",
    ),
    (
        NEGATIVE,
        "try:\n  f(-1)\nexcept:\n  pass\nelse:\n  assert False",
    ),
    (
        NEGATIVE,
        "try:\n  f(-1)\nexcept BaseException as e:\n  assert type(e).__name__ == \"ValueError\"\nelse:\n  assert False",
    ),
    (
        NEGATIVE,
        "def raises(exc, g, *a):\n  try: g(*a)\n  except exc: return True\n  return False\nassert raises(ValueError, f, -1)\nassert not raises(ValueError, f, 1)",
    ),
    (
        NEGATIVE,
        "import unittest\nclass T(unittest.TestCase):\n  def test_a(self):\n    self.assertRaises(ValueError, f, -1)\n  def test_b(self):\n    with self.assertRaises(ValueError) as cm: f(-2)\n    self.assertEqual(str(cm.exception), \"neg\")\n  def test_c(self):\n    with self.assertRaisesRegex(ValueError, \"ne\"): f(-2)\n    self.assertRaisesRegex(ValueError, \"ne\", lambda: f(-2))\nr = unittest.TestResult()\nunittest.defaultTestLoader.loadTestsFromTestCase(T).run(r)\nassert r.wasSuccessful() and r.testsRun == 3, r.errors",
    ),
    (
        NEGATIVE,
        "import contextlib\nwith contextlib.suppress(ValueError): f(-1)\nassert f(1) == 1",
    ),
    (
        NEGATIVE,
        "class Raises:\n  def __init__(self, t): self.t = t\n  def __enter__(self): return self\n  def __exit__(self, t, e, tb): return t is not None and issubclass(t, self.t)\nwith Raises(ValueError): f(-1)\nassert f(1) == 1",
    ),
    (
        NEGATIVE,
        "class Caught:\n  def __enter__(self): return self\n  def __exit__(self, t, e, tb):\n    self.e = e\n    return True\nwith Caught() as c: f(-1)\nassert str(c.e) == \"neg\"",
    ),
    (
        NEGATIVE,
        "for bad, name in [(-1, \"ValueError\")]:\n  try: f(bad)\n  except Exception as e: assert type(e).__name__ == name\n  else: assert False",
    ),
    (
        NEGATIVE,
        "import builtins\nfor bad, name in [(-1, \"ValueError\")]:\n  try: f(bad)\n  except getattr(builtins, name): pass\n  else: assert False",
    ),
    (
        NEGATIVE,
        "results = []\nfor x in (-1, 1):\n  try: results.append(f(x))\n  except Exception as e: results.append(e)\nassert isinstance(results[0], ValueError) and results[1] == 1",
    ),
    (
        NEGATIVE,
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as p:\n  r = p.submit(f, -1)\n  assert r.exception() is not None",
    ),
    (
        NEGATIVE,
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as p:\n  r = p.submit(f, -1)\n  try:\n    r.result()\n    assert False, 0\n  except ValueError: pass",
    ),
    (
        NEGATIVE,
        "import asyncio\nasync def g(x): return f(x)\nasync def main(): return await asyncio.gather(g(-1), g(1), return_exceptions=True)\nr = asyncio.run(main())\nassert r[1] == 1 and str(r[0]) == \"neg\"",
    ),
    (
        NEGATIVE,
        "import asyncio\nasync def g(x): return f(x)\ntry:\n  asyncio.run(g(-1))\n  assert False, 1\nexcept ValueError: pass",
    ),
    (
        NEGATIVE,
        "try:\n  list(f(x) for x in [1, -1])\n  assert False, 1\nexcept ValueError: pass\nassert [f(x) for x in (1,2)] == [1,2]",
    ),
    (
        NEGATIVE,
        "try:\n  list(map(f, [1, -1]))\n  assert False, 1\nexcept ValueError: pass\nassert list(map(f, (1,2))) == [1,2]",
    ),
    (
        NEGATIVE,
        "try:\n  [f(x) for x in [1, -1]]\n  assert False, 1\nexcept ValueError: pass",
    ),
    (
        NEGATIVE,
        "try:\n  sorted([1,-1], key=f)\n  assert False, 1\nexcept ValueError: pass",
    ),
    (
        NEGATIVE,
        "import contextlib\n@contextlib.contextmanager\ndef raises(t):\n  try:\n    yield\n  except t: return\n  assert False\nwith raises(ValueError): f(-1)\nwith raises(ValueError):\n  f(-2)",
    ),
    (
        "def f(x): return [][x]",
        "try: f(3)\nexcept IndexError as e: assert str(e) == \"list index out of range\"\nelse: assert False",
    ),
    (
        "def f(x): return {}[x]",
        "try: f(3)\nexcept KeyError as e: assert e.args == (3,) and str(e) == \"3\"\nelse: assert False",
    ),
    (
        "def f(x): return {}[x]",
        "try: f(3)\nexcept LookupError as e: assert e.args == (3,) and str(e) == \"3\" and repr(e) == \"KeyError(3)\"\nelse: assert False",
    ),
    (
        "def f(x): open(\"/nowhere/x\")",
        "try: f(3)\nexcept Exception as e: assert e.errno == 2 and e.filename == \"/nowhere/x\"\nelse: assert False",
    ),
    (
        "def f(x): open(\"/nowhere/x\")",
        "try: f(3)\nexcept IOError as e: assert e.errno == 2\nelse: assert False",
    ),
    (
        "import json\ndef f(x): return json.loads(x)",
        "import json\ntry: f(\"{\")\nexcept json.JSONDecodeError as e: assert \"line 1\" in str(e)\nelse: assert False",
    ),
    (
        "from decimal import *\ndef f(x): return Decimal(x)",
        "import decimal\ntry: f(\"x\")\nexcept decimal.InvalidOperation: pass\nelse: assert False",
    ),
    (
        "import sys\ndef f(x): sys.exit(x)",
        "try: f(3)\nexcept SystemExit as e: assert e.code == 3\nelse: assert False",
    ),
    (
        "import sys\ndef f(x): sys.exit(\"no\")",
        "try: f(3)\nexcept SystemExit as e: assert e.code == \"no\"\nelse: assert False",
    ),
    (
        "def f(x): raise StopIteration(x)",
        "try: f(3)\nexcept StopIteration as e: assert e.value == 3\nelse: assert False",
    ),
    (
        "def f(x): return iter([1,2])",
        "it = f(1)\nassert next(it) == 1 and next(it) == 2\ntry: next(it)\nexcept StopIteration: pass\nelse: assert False\nassert list(f(1)) == [1,2]\nassert next(f(1), 0) == 1",
    ),
    (
        "def f(n):\n  for i in range(n): yield i",
        "assert list(f(3)) == [0,1,2]\nassert sum(f(4)) == 6\nfor a, b in zip(f(2), [0, 1]): assert a == b",
    ),
    (
        "class Mine(ValueError):\n  def __init__(self, a, b): super().__init__(\"%s-%s\" % (a, b)); self.a = a\ndef f(x): raise Mine(x, 2)",
        "try: f(1)\nexcept ValueError as e: assert str(e) == \"1-2\" and type(e).__name__ == \"Mine\"\nelse: assert False",
    ),
    (
        "class X(KeyError, ValueError): pass\ndef f(x): raise X(x)",
        "for t in (KeyError, ValueError, LookupError):\n  try: f(1)\n  except t: pass\n  else: assert False",
    ),
    (
        "class X(StopIteration, ValueError): pass\ndef f(x): raise X(x)",
        "try: f(1)\nexcept ValueError: pass\nelse: assert False",
    ),
    (
        "class A(Exception): pass\nclass B(A): pass\nclass C(B): pass\nclass D(C): pass\nclass E(D): pass\nclass F(E): pass\nclass G(F): pass\nclass H(G): pass\nclass I(H): pass\nclass J(I): pass\nclass K(J): pass\nclass L(K): pass\nclass M(L): pass\ndef f(x): raise M(x)",
        "try: f(1)\nexcept Exception as e: assert type(e).__name__ == \"M\"\nelse: assert False",
    ),
    (
        "def f(x): raise ExceptionGroup(\"g\", [ValueError(\"a\"), KeyError(\"b\")])",
        "try: f(1)\nexcept ExceptionGroup as e: assert len(e.exceptions) == 2 and e.subgroup(ValueError)\nelse: assert False",
    ),
    (
        "def f(x): raise ExceptionGroup(\"g\", [ValueError(\"a\"), KeyError(\"b\")])",
        "seen = []\ntry: f(1)\nexcept* ValueError as e: seen.append(1)\nexcept* KeyError as e: seen.append(2)\nassert seen == [1, 2]",
    ),
    (
        "def f(x): raise BaseExceptionGroup(\"g\", [KeyboardInterrupt(\"a\"), KeyError(\"b\")])",
        "try: f(1)\nexcept BaseExceptionGroup as e: assert len(e.exceptions) == 2 and e.subgroup(KeyboardInterrupt)\nelse: assert False",
    ),
    (
        "def f(x): assert x > 0, \"pos\"",
        "try:\n  f(-1)\nexcept AssertionError as e: assert str(e) == \"pos\"\nelse: raise Exception",
    ),
    (
        "def f(x): return f(x)",
        "try:\n  f(-1)\nexcept RecursionError as e: pass\nelse: raise Exception",
    ),
    (
        "def f(x): return 1 / x",
        "try:\n  f(0)\nexcept ArithmeticError as e: assert isinstance(e, ArithmeticError)\nelse: raise Exception",
    ),
    (
        NEGATIVE,
        "for i in range(300):\n  try:\n    f(-i - 1)\n    assert False\n  except ValueError: pass\nassert f(1) == 1",
    ),
    (
        NEGATIVE,
        "try:\n  try: f(-1)\n  finally: assert f(2) == 2\nexcept ValueError: pass\nelse: assert False\nassert f(3) == 3",
    ),
    (
        NEGATIVE,
        "try: f(-1)\nexcept ValueError as e:\n  assert f(2) == 2\n  try: f(-2)\n  except ValueError: pass\nassert f(3) == 3",
    ),
    (
        NEGATIVE,
        "try:\n  try: f(-1)\n  except ValueError: raise KeyError\nexcept KeyError: pass\nassert f(3) == 3",
    ),
    (
        NEGATIVE,
        "try:\n  try: f(-1)\n  except ValueError as e: raise\nexcept ValueError: pass\nassert f(3) == 3",
    ),
    (
        NEGATIVE,
        "class D(dict):\n  def __missing__(self, k):\n    try: return f(k)\n    except ValueError: raise KeyError(k)\nassert D().get(1) is None and D()[1] == 1\ntry: D()[-1]\nexcept KeyError: pass\nelse: assert False",
    ),
    (
        NEGATIVE,
        "class Node:\n  def __init__(self, v): self.v = v\n  @property\n  def val(self):\n    try: return f(self.v)\n    except ValueError: return None\nassert Node(-1).val is None and Node(1).val == 1",
    ),
    (
        NEGATIVE,
        "error = None\ntry: f(-1)\nexcept ValueError as e: error = e.with_traceback(None)\nassert error is not None\nassert f(1) == 1",
    ),
    (
        NEGATIVE,
        "def err(g):\n  \"\"\"ValueError of g\"\"\"\n  try: g()\n  except ValueError: return 1\nassert err(lambda: f(-1))",
    ),
    (
        NEGATIVE,
        "outcomes = {}\nfor x in (-1, 1):\n  try: outcomes[x] = f(x)\n  except Exception: outcomes[x] = \"error\"\nassert outcomes == {-1: \"error\", 1: 1}",
    ),
    (
        "def f(x): return str(x) if isinstance(x, Exception) else x",
        "e = ValueError(\"v\")\nassert f(1) == 1\nassert f(e) == \"v\"\nassert f([e, 1])[1] == 1\nx = [e]\nf(x)\nassert x[0] is e\nassert f(x)[0] is e",
    ),
    (
        "class Mine(Exception): pass\ndef f(x):\n  if x == 1: raise Mine(5)\n  return isinstance(x, Mine) and x.args == (5,)",
        "try: f(1)\nexcept Exception as e: r = e\nassert f(r) is True",
    ),
    (
        "def f(x, y=1):\n  if isinstance(x, list): x.append(3)\n  if y == 0: raise KeyError(y)\n  return len(x)",
        "try: f([], 0)\nexcept KeyError as e: r = [e]\nassert f(r) == 2 and r[1] == 3 and type(r[0]) is KeyError",
    ),
];
#[tokio::test]
async fn expected_exceptions_pass() {
    let sandbox = sandbox_or_skip!();
    let groups = minor(&sandbox) >= 11;
    for (code, tests) in HONEST {
        if code.contains("Group(") && !groups {
            continue;
        }
        let report = run(&sandbox, code, tests).await;
        assert_eq!(
            (report.verdict, report.mode),
            (TestVerdict::Passed, TestMode::Split),
            "{code}\n{tests}"
        );
    }
}

fn minor(sandbox: &Sandbox) -> u32 {
    sandbox
        .python()
        .unwrap()
        .version
        .split('.')
        .nth(1)
        .and_then(|m| m.parse().ok())
        .unwrap()
}

#[tokio::test]
async fn a_check_function_may_import_the_class_that_it_expects() {
    let sandbox = sandbox_or_skip!();
    let job = TestJob {
        code: "import json\ndef f(x): return json.loads(x)".into(),
        tests: vec![
            "def check(candidate):\n  from json import JSONDecodeError as E\n  try: candidate('{')\n  \
             except E as e: assert 'line 1' in str(e)\n  else: assert False\n"
                .into(),
        ],
        entry_point: Some("f".into()),
        check: Some("check".into()),
        ..TestJob::default()
    };
    assert_eq!(
        sandbox.run_tests(job).await.unwrap().verdict,
        TestVerdict::Passed
    );
}

/// Exceptions that the tests name somewhere and that nothing takes where they are raised.
const NOT_TAKEN: [(&str, &str, &str); 13] = [
    (
        "a lock is no handler",
        "StopIteration",
        "import threading\nlock = threading.Lock()\ndef g(x):\n  with lock: return f(x)\nEXPECT\n\
         assert all(map(lambda p: p[0] == p[1], zip(map(g, [1, 2]), [1, 4])))",
    ),
    (
        "redirected output is no handler",
        "StopIteration",
        "import contextlib, io\ndef g(x):\n  with contextlib.redirect_stdout(io.StringIO()): return f(x)\nEXPECT\n\
         for got, want in zip(map(g, [1, 2]), [1, 4]): assert got == want",
    ),
    (
        "suppressing another class is no handler",
        "StopIteration",
        "import contextlib\ndef g(x):\n  with contextlib.suppress(KeyError): return f(x)\nEXPECT\n\
         for got, want in zip(map(g, [1, 2]), [1, 4]): assert got == want",
    ),
    (
        "a lock beside a manager of the tests",
        "StopIteration",
        "import threading\nlock = threading.Lock()\nclass M:\n  def __enter__(self): return self\n  def __exit__(self, *a): return False\n\
         def g(x):\n  with lock: return f(x)\nEXPECT\nwith M(): pass\nfor got, want in zip(map(g, [1, 2]), [1, 4]): assert got == want",
    ),
    (
        "results of futures",
        "StopIteration",
        "from concurrent.futures import ThreadPoolExecutor, Future\nEXPECT\nwith ThreadPoolExecutor(1) as ex:\n  \
         fs = [ex.submit(f, x) for x in range(3)]\n  for got, want in zip(map(Future.result, fs), [0, 1, 4]): assert got == want",
    ),
    (
        "results of a pool",
        "StopIteration",
        "from multiprocessing.pool import ThreadPool, ApplyResult\nEXPECT\nwith ThreadPool(1) as pool:\n  \
         rs = [pool.apply_async(f, (x,)) for x in range(3)]\n  for got, want in zip(map(ApplyResult.get, rs), [0, 1, 4]): assert got == want",
    ),
    (
        "an entry in a log",
        "StopIteration",
        "import logging\ndef first(it):\n  try: return next(it)\n  except StopIteration: logging.getLogger().exception('empty')\nEXPECT\n\
         for got, want in zip(map(f, [1, 2]), [1, 4]): assert got == want",
    ),
    (
        "a look at a traceback",
        "IndexError",
        "class Seq:\n  def __getitem__(self, i): return f(i)\ntry: [][0]\nexcept IndexError as e: tb = e.__traceback__\nEXPECT\n\
         for got, want in zip(Seq(), [1, 4]): assert got == want",
    ),
    (
        "a class that was an answer",
        "StopIteration",
        "r = f(0)\ndef g(x):\n  try: return f(x)\n  except r: raise\nfor got, want in zip(map(g, [1, 2]), [1, 4]): assert got == want",
    ),
    (
        "a class that was an answer, in a global",
        "StopIteration",
        "import contextlib\nexpected = f(0)\ndef g(x):\n  with contextlib.suppress(expected): return f(x)\n\
         for got, want in zip(map(g, [1, 2]), [1, 4]): assert got == want",
    ),
    (
        "a class that was an answer, in place of an import",
        "StopIteration",
        "from json import JSONDecodeError\nJSONDecodeError = f(0)\ntry: f(1)\nexcept JSONDecodeError: pass\n",
    ),
    (
        "a finally",
        "StopIteration",
        "seen = []\ndef g(x):\n  try: return f(x)\n  finally: seen.append(x)\nEXPECT\nassert list(map(g, [1])) == []",
    ),
    (
        "a collected exception elsewhere",
        "StopIteration",
        "import asyncio\nasync def h(): return 1\nasync def main(): return await asyncio.gather(h(), return_exceptions=True)\n\
         asyncio.run(main())\nEXPECT\nfor got, want in zip(map(f, [1, 2]), [1, 4]): assert got == want",
    ),
];
#[tokio::test]
async fn exceptions_that_nothing_takes_fail() {
    let sandbox = sandbox_or_skip!();
    for (name, exception, tests) in NOT_TAKEN {
        let tests = tests.replace(
            "EXPECT",
            &format!("try: f(None)\nexcept {exception}: pass\nelse: assert False"),
        );
        let code = format!(
            "def f(x):\n  if x == 0 and x is not False: return {exception}\n  raise {exception}"
        );
        let code = if tests.contains("r = f(0)") || tests.contains("= f(0)") {
            code
        } else {
            format!("def f(x): raise {exception}")
        };
        let report = run(&sandbox, &code, &tests).await;
        assert_eq!(report.mode, TestMode::Split, "{name}");
        if tests.contains("redirect_stdout") {
            // What the code prints does not cross, so that only tests in one interpreter can tell
            // its failure.
            let why = TestVerdict::Uncertain {
                why: "read what the code prints (`redirect_stdout`)".into(),
            };
            assert_eq!(report.verdict, why, "{name}");
            continue;
        }
        assert_eq!(
            raised(&report.verdict).as_deref(),
            Some(exception),
            "{name}: {:?}",
            report.verdict
        );
    }
}

/// What the candidate sends in place of an answer fails it, whatever its size or form.
#[tokio::test]
async fn no_message_keeps_the_judge_from_a_verdict() {
    let sandbox = sandbox_or_skip!();
    let judged = async |code: String| {
        let tests = vec!["assert f(1) == 1".into()];
        let job = TestJob {
            code,
            tests,
            mode: Some(TestMode::Split),
            ..TestJob::default()
        };
        sandbox.run_tests(job).await.unwrap().verdict
    };
    let forged =
        "import os, time\nos.write(4, b'{\"load\": \"run\", \"e\": FORM}\\n')\ntime.sleep(5)";
    for form in [
        "[1]",
        "1",
        "\"x\"",
        "{\"line\": [1], \"type\": 5, \"mro\": {}}",
        "{\"line\": 1e999, \"code\": 1e999}",
    ] {
        let verdict = judged(forged.replace("FORM", form)).await;
        assert!(
            matches!(verdict, TestVerdict::Failed(_)),
            "{form}: {verdict:?}"
        );
    }
    let long = "import os, time\ndef f(x):\n  b = ('START' + chr(233) * 3900000 + 'END\\n').encode()\n  \
                while b: b = b[os.write(4, b):]\n  time.sleep(5)";
    let opaque = |verdict: &TestVerdict| matches!(verdict, TestVerdict::Opaque { type_name } if type_name.chars().count() == 200);
    let raised = |verdict: &TestVerdict| matches!(verdict, TestVerdict::CandidateRaised(raised) if raised.message.chars().count() <= 2000);
    let cases = [
        (
            r#"{"i":1,"e":{"type":"X","mro":["X"],"message":""#,
            r#""}}"#,
        ),
        (r#"{"i":1,"e":{"mro":["X"],"message":"","type":""#, r#""}}"#),
        (
            r#"{"i":1,"e":{"type":"X","mro":["X"],"message":"","traceback":""#,
            r#""}}"#,
        ),
        (r#"{"i":1,"v":{"$opaque":""#, r#""}}"#),
    ];
    for (start, end) in cases {
        let code = long.replace("START", start).replace("END", end);
        let verdict = judged(code).await;
        let bounded = if start.contains("opaque") {
            opaque(&verdict)
        } else {
            raised(&verdict)
        };
        assert!(bounded, "{start}: {:.300}", format!("{verdict:?}"));
    }
}

/// Two programs in one interpreter share the channel of verdicts.
#[tokio::test]
async fn a_verdict_without_end_is_forged() {
    let sandbox = sandbox_or_skip!();
    let code = "import os\nfor fd in range(3, 20):\n  try:\n    os.fstat(fd)\n    \
                for _ in range(9): os.write(fd, b'x' * (1 << 20))\n  except OSError: pass\ndef f(x): return 1\n";
    let job = TestJob {
        code: code.into(),
        tests: vec!["assert f(1) == 1".into()],
        mode: Some(TestMode::InProcess),
        ..TestJob::default()
    };
    let verdict = sandbox.run_tests(job).await.unwrap().verdict;
    assert!(
        matches!(&verdict, TestVerdict::Failed(RunFailure::Forged { .. })),
        "{verdict:?}"
    );
}

#[tokio::test]
async fn threads_of_the_tests_take_turns() {
    let sandbox = sandbox_or_skip!();
    let tests = "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(8) as ex:\n  \
                 assert list(ex.map(f, range(200))) == [x * x for x in range(200)]\n  assert f(ex.map(f, range(9))) == 204";
    let code = "def f(x): return x * x if type(x) is int else sum(x)";
    let report = run(&sandbox, code, tests).await;
    assert_eq!(
        (report.verdict, report.mode, report.calls),
        (TestVerdict::Passed, TestMode::Split, 210)
    );
}

/// Raises at the first call, knows the answer afterwards, and looks for tests in its interpreter.
const SECOND_TRY: &str = "import sys\nfirst = True\ndef f(x):\n  global first\n  if 'token' in str([frame for frame in frames()]): sys.exit(7)\n  \
    if first:\n    first = False\n    FIRST\n  return 4\ndef frames():\n  frame = sys._getframe()\n  while frame:\n    yield list(frame.f_locals)\n    frame = frame.f_back\n";

/// What tests hand over because of an answer, or because there is none, never takes them to the
/// candidate's interpreter.
#[tokio::test]
async fn no_exception_or_value_leads_to_the_tests_interpreter() {
    let sandbox = sandbox_or_skip!();
    let (error, value) = ("raise KeyError('x')", "import re; return re.compile('a')");
    let table = [
        (
            error,
            "try: r = f(1)\nexcept Exception as e: r = e\nassert f(r) == 4",
            "passed",
        ),
        (
            error,
            "try: r = f(1)\nexcept Exception as e: r = [{1: (e,)}]\nassert f(r) == 4",
            "passed",
        ),
        (
            error,
            "try: r = f(1)\nexcept KeyError as e: r = type(e)\nassert f(r) == 4",
            "passed",
        ),
        (
            error,
            "try: r = f(1)\nexcept Exception as e: r = type(e)\nassert f(r) == 4",
            "opaque type",
        ),
        (
            error,
            "try: r = f(1)\nexcept Exception as e: r = e.__traceback__\nassert f(r) == 4",
            "opaque traceback",
        ),
        (
            error,
            "try: r = f(1)\nexcept Exception as e: r = e.__traceback__.tb_frame\nassert f(r) == 4",
            "opaque frame",
        ),
        (
            error,
            "class E(Exception): pass\ntry:\n  try: f(1)\n  except KeyError: raise E\nexcept E as e: r = e\nassert f(r) == 4",
            "passed",
        ),
        (value, "r = f(1)\nassert f(r) == 4", "opaque Pattern"),
        (value, "r = f(1)\nassert f(x=[r]) == 4", "opaque Pattern"),
        (value, "r = f(1)\nassert f(type(r)) == 4", "opaque type"),
        (
            "return iter([1])",
            "r = f(1)\nassert f(type(r)) == 4",
            "opaque type",
        ),
        (
            "from decimal import Decimal; return Decimal(1)",
            "r = f(1)\nassert f(type(r)) == 4",
            "opaque type",
        ),
        (
            "return 'text'",
            "assert f((1).__eq__(f(1))) == 4",
            "opaque NotImplementedType",
        ),
        (
            "return 1.5",
            "r = f(1)\nassert f(r.__add__) == 4",
            "opaque method-wrapper",
        ),
        (
            "return b'1'",
            "assert f(type(f(1)).__len__) == 4",
            "opaque wrapper_descriptor",
        ),
        (
            "return 'text'",
            "assert f(f(1).upper) == 4",
            "opaque builtin_function_or_method",
        ),
        (
            "return 'text'",
            "assert f(type(f(1)).upper) == 4",
            "opaque method_descriptor",
        ),
        (
            "return 'text'",
            "import re\nassert f(re.match('t', f(1))) == 4",
            "opaque Match",
        ),
        (
            "return 'lambda: 1'",
            "assert f(eval(f(1))) == 4",
            "opaque function",
        ),
        (
            "from decimal import Decimal; return Decimal(1)",
            "from decimal import Decimal\nr = f(1)\nassert f(type(r)) == 4",
            "opaque type",
        ),
        (
            "from collections import OrderedDict; return OrderedDict(a=1)",
            "r = f(1)\nfor x in (r.keys(), r.values(), r.items(), iter(r), reversed(r)): assert f(x) == 4",
            "passed",
        ),
        (
            "return {'a': 1}",
            "r = f(1)\nfor x in (r.keys(), r.values(), r.items(), iter(r), iter(r.items())): assert f(x) == 4",
            "passed",
        ),
        ("return b'ab'", "assert f(iter(f(1))) == 4", "passed"),
        (
            "return bytearray(b'ab')",
            "assert f(iter(f(1))) == 4",
            "passed",
        ),
        (
            "from collections import deque; return deque([1])",
            "r = f(1)\nassert f(iter(r)) == 4 and f(reversed(r)) == 4",
            "passed",
        ),
        ("return 1", "r = f(1)\nassert f(type(r)) == 4", "passed"),
    ];
    for (first, tests, want) in table {
        let report = run(&sandbox, &SECOND_TRY.replace("FIRST", first), tests).await;
        let found = match &report.verdict {
            TestVerdict::Passed => "passed".to_owned(),
            TestVerdict::Opaque { type_name } => format!("opaque {type_name}"),
            other => format!("{other:?}"),
        };
        assert_eq!(
            (found.as_str(), report.mode),
            (want, TestMode::Split),
            "{first}\n{tests}"
        );
    }
    // Objects that the tests make themselves still may: that is the tests' choice.
    for tests in [
        "assert f(0) == 4\nclass Node: pass\nn = Node()\nassert f(n) == 4",
        "functions = [lambda x: x]\nassert f(functions[0]) == 4",
        "from enum import Enum\nassert f(0) == 4\nassert f(Enum) == 4",
        "import enum\nassert f(0) == 4\nassert f(enum.Enum) == 4",
        "class Node:\n  def go(self): pass\nassert f(0) == 4\nassert f(Node) == 4",
        "class Node:\n  def go(self): pass\nassert f(0) == 4\nassert f(Node().go) == 4",
        "async def go(): pass\nassert f(0) == 4\nassert f(go()) == 4",
        "assert f(0) == 4\nassert f(len) == 4",
        "assert f(0) == 4\nassert f(str.upper) == 4",
        "import statistics\nassert f(0) == 4\nassert f(statistics.mean) == 4",
        "import random\nassert f(0) == 4\nassert f(random.random) == 4 and f(random.randint) == 4",
        "import functools\nassert f(0) == 4\nassert f(functools.partial(max, 1)) == 4",
        "import operator\nassert f(0) == 4\nassert f(operator.itemgetter(1)) == 4",
        "assert f(0) == 4\nassert f(object()) == 4",
    ] {
        let report = run(&sandbox, "def f(x): return 4", tests).await;
        let needs = matches!(report.verdict, TestVerdict::NeedsInProcess { .. });
        assert!(
            needs || report.mode == TestMode::InProcess,
            "{tests}: {:?}",
            report.verdict
        );
    }
}

#[tokio::test]
async fn exceptions_cross_to_the_candidate_and_come_back() {
    let sandbox = sandbox_or_skip!();
    let table = [
        (
            "def f(x): return str(x) if isinstance(x, Exception) else x",
            "e = ValueError('v')\nassert f(1) == 1 and f(e) == 'v'\nx = [e]\nf(x)\nassert x[0] is e and f(x)[0] is e",
        ),
        (
            "class Mine(Exception): pass\ndef f(x):\n  if x == 1: raise Mine(5)\n  return isinstance(x, Mine) and x.args == (5,)",
            "try: f(1)\nexcept Exception as e: r = e\nassert f(r) is True",
        ),
        (
            "def f(x, y=1):\n  if isinstance(x, list): x.append(3)\n  if y == 0: raise KeyError(y)\n  return len(x)",
            "try: f([], 0)\nexcept KeyError as e: r = [e]\nassert f(r) == 2 and r[1] == 3 and type(r[0]) is KeyError",
        ),
    ];
    for (code, tests) in table {
        let report = run(&sandbox, code, tests).await;
        assert_eq!(
            (report.verdict, report.mode),
            (TestVerdict::Passed, TestMode::Split),
            "{tests}"
        );
    }
    // An index that was never handed out.
    let forged = "import os\ndef f(x):\n  os.write(4, b'{\"i\": 1, \"v\": {\"$error\": {\"n\": 5}}}\\n')\n  os.read(4, 1)";
    let verdict = run(&sandbox, forged, "assert len([f(1)]) == 1")
        .await
        .verdict;
    assert!(
        matches!(verdict, TestVerdict::Failed(RunFailure::Forged { .. })),
        "{verdict:?}"
    );
}

/// A text that the tests evaluate is an answer, and no fault of the tests.
#[tokio::test]
async fn an_answer_that_does_not_evaluate_fails() {
    let sandbox = sandbox_or_skip!();
    for (answer, class, tests) in [
        (
            "no_such_name",
            "NameError",
            "exec(compile('y = ' + f(1), 'answer.py', 'exec'), {})",
        ),
        (
            "1 +",
            "SyntaxError",
            "import ast\nast.parse(f(1), filename='answer.py')",
        ),
        (
            "no_such_module",
            "ModuleNotFoundError",
            "import importlib\nimportlib.import_module(f(1))",
        ),
        ("no_such_module", "ModuleNotFoundError", "__import__(f(1))"),
    ] {
        let verdict = run(&sandbox, &format!("def f(x): return '{answer}'"), tests)
            .await
            .verdict;
        assert!(
            matches!(&verdict, TestVerdict::TestRaised(raised) if raised.is(class)),
            "{tests}: {verdict:?}"
        );
    }
    for tests in [
        "f(1)\nimport no_such_module",
        "f(1)\nfrom no_such_module.x import y",
    ] {
        let verdict = run(&sandbox, "def f(x): return 1", tests).await.verdict;
        assert!(
            matches!(verdict, TestVerdict::TestError(_)),
            "{tests}: {verdict:?}"
        );
    }
    for (answer, class) in [("'1 +'", "SyntaxError"), ("'no_such_name'", "NameError")] {
        let code = format!("def f(x): return {answer}");
        let verdict = run(&sandbox, &code, "assert eval(f(1)) == 4").await.verdict;
        assert!(
            matches!(&verdict, TestVerdict::TestRaised(raised) if raised.is(class)),
            "{verdict:?}"
        );
        let verdict = run(
            &sandbox,
            &format!("{code}\nclass K: pass"),
            "K()\nassert eval(f(K() and 1)) == 4",
        )
        .await;
        assert_eq!(verdict.mode, TestMode::InProcess, "{}", verdict.mode_reason);
        assert!(
            !matches!(
                verdict.verdict,
                TestVerdict::TestError(_) | TestVerdict::Passed
            ),
            "{:?}",
            verdict.verdict
        );
    }
}
