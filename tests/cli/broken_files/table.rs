vec![
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: 'open\n",
        said: &[
            "2:15 syntax: a quoted text is not closed | add the closing quote",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: [a\n",
        said: &[
            "1:7 syntax: this `[` is not closed | add the `]`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "a: b: c\n",
        said: &[
            "1:5 syntax: a `:` is not allowed here | a text that contains `: ` needs quotes",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n\tinput: x\n",
        said: &[
            "1:7 tab-indentation: YAML does not allow a tab for indentation | indent with spaces",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  id: b\n  input: x\n  expected: y\n",
        said: &[
            "2:3 duplicate-key: duplicate key `id`: first on line 1 | remove one of the two",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: {{ x }}\n  expected: y\n",
        said: &[
            "2:10 unquoted-template: a value that begins with `{{` needs quotes: YAML reads it as a map inside a map | write \"{{ x }}\"",
            "2:13 warning undefined-variable: `x` is not defined | define it under `vars:` in the suite, or pass `--var`; write `{% raw %}{{ ... }}{% endraw %}` for literal braces",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n---\n- id: b\n",
        said: &[
            "2:1 several-documents: a second YAML document begins here | a file must contain one document: remove the `---`, or split the file",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: !foo a\n",
        said: &[
            "1:3 missing-key: element 1 lacks the key `input` | add `input`, or its short form `prompt`",
            "1:7 unknown-tag: unknown tag `!foo` | a text that begins with `!` needs quotes",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- ? [x]\n  : y\n",
        said: &[
            "1:3 missing-key: element 1 lacks the key `id` | add `id`: a text",
            "1:3 missing-key: element 1 lacks the key `input` | add `input`, or its short form `prompt`",
            "1:5 complex-key: a key must be text, but this is a list",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: *nope\n",
        said: &[
            "1:3 missing-key: element 1 lacks the key `input` | add `input`, or its short form `prompt`",
            "1:3 wrong-type: `id` is empty: expected a text",
            "1:7 bad-alias: no anchor is defined for the alias `*nope` | a text that begins with `*` needs quotes: \"*nope\"",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- <<: 1\n  id: a\n",
        said: &[
            "1:7 bad-merge-key: a merge key (`<<`) takes a map or a list of maps",
            "2:3 missing-key: element 1 lacks the key `input` | add `input`, or its short form `prompt`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "hello\n",
        said: &[
            "1:1 unknown-shape: eval-harness does not know this kind of file | a suite begins with `eval_suite:`; other files have one of these top-level keys: eval_suite, eval_trigger, phase, phases, eval_id, graders, rubrics, defaults, executors, prices, presets, thresholds, capability_eval, regression_eval, metadata, test_cases, dataset, baseline, test_case, current, input",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "foo: 1\n",
        said: &[
            "1:1 unknown-shape: eval-harness does not know this kind of file | a suite begins with `eval_suite:`; other files have one of these top-level keys: eval_suite, eval_trigger, phase, phases, eval_id, graders, rubrics, defaults, executors, prices, presets, thresholds, capability_eval, regression_eval, metadata, test_cases, dataset, baseline, test_case, current, input",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "[]\n",
        said: &[
            "1:1 wrong-length: the document must not be empty",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n",
        said: &[
            "1:7 grader-incomplete: the case has neither `expected` nor `grader` | describe a good output under `expected:`, or add a `grader:`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: y\n  exepcted: z\n",
        said: &[
            "4:3 unknown-key: unknown key `exepcted` | valid keys: `asserts`, `category`, `combine`, `config`, `description`, `expected`, `extract`, `grader`, `graders`, `id`, `input`, `max_latency_ms`, `metadata`, `name`, `prompt`, `prompts`, `solution`, `workspace`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: 7\n  input: x\n  expected: y\n",
        said: &[
            "1:7 wrong-type: `id`: expected a text, found the number `7` | put quotes around it",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- input: x\n  expected: y\n",
        said: &[
            "1:3 missing-key: element 1 lacks the key `id` | add `id`: a text",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: {type: exakt, value: y}\n",
        said: &[
            "3:20 unknown-value: `exakt` is not a valid value of `type`: expected one of `exact`, `contains`, `pattern`, `semantic`, `functional`, `numeric`, `json`, `structural` | did you mean `exact`?",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: {type: exact}\n",
        said: &[
            "3:3 missing-key: `expected` lacks the key `value`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: {value: y}\n",
        said: &[
            "3:3 missing-key: `expected` lacks the key `type` | add `type`: one of `exact`, `contains`, `pattern`, `semantic`, `functional`, `numeric`, `json`, `structural`; a literal map is `{type: exact, value: {...}}`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: y\n  metadata: {weight: -1}\n",
        said: &[
            "4:22 out-of-range: `weight` must be at least 0.0, found `-1`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: y\n  metadata: {difficulty: tough}\n",
        said: &[
            "4:26 unknown-value: `tough` is not a valid value of `difficulty`: expected one of `easy`, `medium`, `hard`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: y\n  expected_output: z\n",
        said: &[
            "4:3 both-spellings: `expected` (line 3) and `expected_output` (line 4) are two spellings of the same key | keep one of them, preferably `expected`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: y\n  config: {timeout_seconds: 0}\n",
        said: &[
            "4:29 out-of-range: `timeout_seconds` must be at least 0.001, found `0`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: y\n  config: {timeout_seconds: 5}\n  metadata: {timeout_seconds: 6}\n",
        said: &[
            "5:14 both-spellings: `config.timeout_seconds` (line 4) and `metadata.timeout_seconds` (line 5) differ | keep one of them, preferably `config.timeout_seconds`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: y\n  config: {pass_rate_threshold: 0}\n",
        said: &[
            "4:33 suspicious-value: with `pass_rate_threshold: 0`, the eval would pass even if nothing passes | write a share above 0, at most 1",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: y\n  config: {samples: 0}\n",
        said: &[
            "4:21 out-of-range: `samples` must be at least 1, found `0`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: {type: prompt}\n  expected: y\n",
        said: &[
            "2:3 missing-key: `input` lacks the key `content` | add `content`: a text",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: {type: file, content: nope.md}\n  expected: y\n",
        said: &[
            "2:32 missing-ref: the file `nope.md` does not exist | paths are relative to the file that contains them",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: {type: file, content: ../../x}\n  expected: y\n",
        said: &[
            "2:32 escaping-ref: `../../x` is outside the project | if that is intended, list the folder under `allow_paths:` in the suite",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code}\n",
        said: &[
            "3:11 cannot-infer-grader: the grader has no `method`, and neither its settings nor `expected.type` determine one | add `method:` under `config:`, one of exact_match, contains, regex, numeric, json, structural_match, function_output, code_execution, similarity, instructions, diff, files, workspace_tests, trajectory, tool_calls, command",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: exact_match}}\n",
        said: &[
            "3:32 grader-incomplete: `exact_match` has no value to compare with | add `expected: {type: exact, value: ...}`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: y\n  grader: {type: code, config: {method: exact_mtach}}\n",
        said: &[
            "4:41 unknown-value: `exact_mtach` is not a valid value of `method`: expected one of `exact_match`, `contains`, `regex`, `numeric`, `json`, `structural_match`, `function_output`, `code_execution`, `similarity`, `instructions`, `diff`, `files`, `workspace_tests`, `trajectory`, `tool_calls`, `command` | did you mean `exact_match`?",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: contains}}\n",
        said: &[
            "3:32 grader-incomplete: `contains` has no text to look for | add `must_include:` or `must_not_include:`, or `expected: {type: contains, value: [...]}`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: contains, must_include: ['']}}\n",
        said: &[
            "3:32 grader-incomplete: every output contains the empty text, so it tests nothing | write the text to look for",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: contains, must_include: [cat], must_not_include: [cat]}}\n",
        said: &[
            "3:32 grader-conflict: no output can pass: \"cat\" must be included, but a part of it must not",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: {type: numeric, value: 3}\n  grader: {type: code, config: {method: contains}}\n",
        said: &[
            "3:13 grader-conflict: `contains` cannot grade an expectation of type `numeric` | `method: numeric` grades it, or change `expected.type`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: regex}}\n",
        said: &[
            "3:32 grader-incomplete: `regex` has no pattern | add `pattern:` to the grader's `config`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: regex, pattern: '('}}\n",
        said: &[
            "3:57 bad-regex: not a regular expression: unclosed group",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: regex, pattern: 'a', capture_groups: [x]}}\n",
        said: &[
            "3:78 bad-capture-group: the pattern has no group `x` | the pattern has no groups; name one with `(?P<x>...)`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: regex, pattern: ''}}\n",
        said: &[
            "3:57 grader-incomplete: the empty pattern matches every output | write a pattern",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: {type: pattern, value: b}\n  grader: {type: code, config: {method: regex, pattern: a}}\n",
        said: &[
            "4:48 grader-conflict: the grader's `pattern` and the case's expectation are two different patterns",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: numeric}}\n",
        said: &[
            "3:32 grader-incomplete: `numeric` has neither a value nor bounds | add `value:`, or `min:` and `max:`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: numeric, value: many}}\n",
        said: &[
            "3:32 grader-incomplete: `numeric` expects a number, but \"many\" is not one",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: numeric, min: 3, max: 1}}\n",
        said: &[
            "3:32 grader-conflict: no number is between 3 and 1",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: json, schema: {type: strin}}}\n",
        said: &[
            "3:55 bad-schema: not a valid JSON Schema: \"strin\" is not valid under any of the schemas listed in the 'anyOf' keyword",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: y\n  grader: {type: code, config: {method: exact_match, value: x}}\n",
        said: &[
            "4:54 grader-conflict: the grader's `value` and the case's expectation are two different answers",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: structural_match}}\n",
        said: &[
            "3:32 grader-incomplete: `structural_match` has no structure to compare with | add `expected: {type: structural, value: ...}`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: {type: structural, value: {id: '{{any_uid}}'}}\n",
        said: &[
            "3:44 bad-matcher: unknown matcher any_uid; did you mean any_uuid?",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: {type: structural, value: {a: 1}}\n  grader: {type: code, config: {method: structural_match, strict: true, allow_additional_fields: true}}\n",
        said: &[
            "4:73 grader-conflict: `strict: true` and `allow_additional_fields: true` contradict each other",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: function_output, function_name: f}}\n",
        said: &[
            "3:32 grader-incomplete: `function_output` has no calls to compare, so it would test nothing | add `test_cases:` with `args` and `expected`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: function_output, function_name: 'f()', test_cases: [{args: [1], expected: 2}]}}\n",
        said: &[
            "3:73 bad-format: `f()` is not the name of a Python function",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: function_output, function_name: f, test_cases: [{args: [1]}]}}\n",
        said: &[
            "3:89 grader-incomplete: call 1 has neither `expected` nor `raises` | add `expected:`, or `reference_solution:` to the grader",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: function_output, function_name: f, test_cases: [{args: [1], expected: 1, raises: E}]}}\n",
        said: &[
            "3:89 grader-conflict: call 1 sets both a result (`expected`) and an exception (`raises`)",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: function_output, function_name: f, test_cases: [{args: [1], expected: 1, tolerance: 1}]}}\n",
        said: &[
            "3:89 grader-conflict: `tolerance` applies only with `comparator: approx` | add `comparator: approx`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: {type: functional, value: {test_cases: [{args: [1], expected: 1}]}}\n  grader: {type: code, config: {method: function_output}}\n",
        said: &[
            "4:32 grader-incomplete: `function_output` has no function to call | add `function_name:`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: code_execution}}\n",
        said: &[
            "3:32 grader-incomplete: `code_execution` has no tests, so it would test nothing | add `test:`, `asserts:` or `stdio:`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: code_execution, asserts: ['x = 1']}}\n",
        said: &[
            "3:67 grader-incomplete: \"x = 1\" asserts nothing, so it would always pass | write `assert ...`; put code that \
             prepares the tests under `setup:`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: code_execution, test: 'assert f()'}}\n",
        said: &[
            "3:63 grader-incomplete: `test` does not define `check(candidate)`, so nothing would be tested | define `def check(candidate):`, or put assert statements under `asserts:`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: code_execution, test: 'def check(c): assert c()'}}\n",
        said: &[
            "3:63 grader-incomplete: `check(candidate)` needs the function to test | add `entry_point: NAME`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: code_execution, asserts: ['assert 1'], stdio: [{stdout: a}]}}\n",
        said: &[
            "3:80 grader-conflict: use `asserts` or `stdio`, not both: only one kind of tests is run | use two graders under \
             `graders:`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: command, command: []}}\n",
        said: &[
            "3:50 wrong-length: `command` must not be empty",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: code, config: {method: command, command: [./nope.sh]}}\n",
        said: &[
            "3:59 warning bad-command: the program `./nope.sh` cannot be found | a path with a slash is relative to the suite's folder",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: strict\n",
        said: &[
            "3:11 warning unknown-grader: unknown grader `strict` | define it under `graders:` in the suite",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: modl, config: {}}\n",
        said: &[
            "3:18 unknown-value: `modl` is not a valid value of `type`: expected one of `code`, `model`, `human` | did you mean `model`?",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: model, config: {model: o1, rubric: nope}}\n",
        said: &[
            "3:53 warning unknown-rubric: unknown rubric `nope` | define it under `graders: {rubrics: ...}` in the suite, or write the criteria here",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: {type: semantic, value: y}\n",
        said: &[
            "3:13 warning cannot-infer-grader: no grader is set, and code cannot judge an expectation of type `semantic` | add `grader: {type: model, config: {model: ...}}`, or set a default judge in the suite: `graders: {defaults: {model: NAME}}`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: model, config: {rubric: be good}}\n",
        said: &[
            "3:33 missing-key: the judge has no `model` | add `model: \"openai:gpt-4o-mini\"`, or list several under `models:`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: model, config: {model: o1, models: [o3], rubric: be good}}\n",
        said: &[
            "3:45 grader-conflict: use `model` or `models`, not both | put all of them under `models:`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: model, config: {models: [o1, 'openai:o1'], rubric: be good}}\n",
        said: &[
            "3:47 grader-conflict: `openai:o1` is listed twice | set `votes: 2` to call each model twice",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: model, config: {model: o1}}\n",
        said: &[
            "3:33 grader-incomplete: the judge has nothing to judge by: there is no `rubric`, no `criteria` and no expected value | describe a good output under `rubric:`, or add `expected: {type: semantic, value: ...}`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: model, config: {model: o1, rubric: be good, scoring: {type: numeric, range: [5, 5]}}}\n",
        said: &[
            "3:94 grader-conflict: [5, 5] is not a scale: its first number must be lower",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: model, config: {model: o1, rubric: be good, scoring: {type: boolean}, pass_threshold: 0.5}}\n",
        said: &[
            "3:104 grader-conflict: `pass_threshold` does not apply: a boolean verdict on the whole rubric has no score | remove it, or list `criteria:`; it is then the share of them that must be met",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: model, config: {model: o1, rubric: be good, prompt: 'Grade {{ outputs }}'}}\n",
        said: &[
            "3:80 undefined-variable: `outputs` is not available in a judge's prompt | did you mean `output`?",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: model, config: {model: o1, rubric: be good, examples: [{output: x, score: nine}]}}\n",
        said: &[
            "3:92 wrong-type: \"nine\" is not a number",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: {type: semantic, value: {must_include: [], must_not_inlcude: a}}\n  grader: {type: model, config: {model: o1}}\n",
        said: &[
            "3:56 unknown-key: unknown key `must_not_inlcude` | did you mean `must_not_include`?",
        ],
    },
    Broken {
        name: "graders.yaml",
        text: "graders:\n  j: {type: model, config: {model: 'local:m', rubric: cleer}}\nrubrics: {clear: Is it clear?}\n",
        said: &[
            "2:55 unknown-rubric: unknown rubric `cleer` | did you mean `clear`?",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: human, config: {evaluators: {min_required: 3, max_allowed: 2}}}\n",
        said: &[
            "3:46 grader-conflict: `min_required: 3` is more than `max_allowed: 2`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  grader: {type: model, config: {model: o1, rubric: be good, pass_threshold: 0}}\n",
        said: &[
            "3:78 suspicious-value: with `pass_threshold: 0`, every output passes | write a threshold above 0",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: y\n  grader: {type: code, config: {method: exact_match}}\n  graders: [{type: code, config: {method: exact_match}}]\n",
        said: &[
            "5:3 grader-conflict: use `grader` or `graders`, not both | put all of them under `graders:`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: y\n  graders: [{type: code, config: {method: exact_match}}]\n  combine: {at_least: 2}\n",
        said: &[
            "5:3 bad-combine: `at_least: 2` is not possible with 1 grader(s)",
            "5:3 warning bad-combine: `combine` has nothing to combine: only one grader decides",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: y\n  graders: [{type: code, config: {}}, {type: code, config: {}}]\n  combine: weighted\n",
        said: &[
            "5:3 bad-combine: `combine: weighted` needs a `pass_threshold` | write `combine: {weighted: {pass_threshold: 0.7}}`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: y\n  extract: [{json_path: 'a..['}]\n",
        said: &[
            "4:13 bad-json-path: `a..[` is not a JSON path (RFC 9535): at position 0, parser error",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: y\n  extract: {regex: {pattern: '(', group: x}}\n",
        said: &[
            "4:12 bad-regex: not a regular expression: unclosed group",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: y\n  extract: [{regex: {pattern: 'a', group: x}}]\n",
        said: &[
            "4:13 bad-capture-group: the pattern has no group `x`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: '{{ x'\n",
        said: &[
            "3:17 bad-template: the template cannot be rendered: syntax error: unexpected end of input, expected end of variable block | write `{% raw %}...{% endraw %}` around braces that are not a template",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: '{{ x | nofilter }}'\n",
        said: &[
            "3:21 bad-template: the template cannot be rendered: unknown filter: filter nofilter is unknown",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: hello\n  expected: 'say {{ model }}'\n",
        said: &[
            "3:21 warning undefined-variable: `model` is not defined | define it under `vars:` in the suite, or pass `--var`; write `{% raw %}{{ ... }}{% endraw %}` for literal braces",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "metadata: {id: f}\n",
        said: &[
            "1:16 empty-cases: the eval has no cases, so it would pass without a test | add `test_cases:` or a `dataset:`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "metadata: {id: f}\ntest_cases: []\n",
        said: &[
            "2:13 empty-cases: the eval has no cases, so it would pass without a test | add `test_cases:` or a `dataset:`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "metadata: {id: f}\ntest_cases:\n  - {id: t, input: x, expected: y}\n  - {id: t, input: x, expected: y}\n",
        said: &[
            "4:10 duplicate-id: two cases have the id `t` | the first one is on line 3",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "metadata: {id: f}\ntest_cases:\n  - {id: t, input: x, expected: y, weight: 1}\n  - {id: u, input: x, grader: {type: code, config: {method: regex, pattern: '['}}}\n",
        said: &[
            "3:36 unknown-key: unknown key `weight` | `weight` belongs under `grader:`, or under `metadata:`, which is beside `test_cases:`",
            "4:77 bad-regex: not a regular expression: unclosed character class",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "metadata: {id: f}\ndataset: {path: nope.jsonl, format: jsonl, case: {id: x, input: y, expected: z}}\n",
        said: &[
            "2:17 missing-ref: the file `nope.jsonl` does not exist | did you mean `rows.jsonl`?",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "metadata: {id: f}\ndataset: {path: rows.jsonl, format: xml, case: {}}\n",
        said: &[
            "2:37 unknown-value: `xml` is not a valid value of `format`: expected one of `jsonl`, `json`, `csv`, `humaneval`, `mbpp`, `bigcodebench`, `livecodebench`, `multipl_e`, `humaneval_pack`, `ds1000`, `code_contests`, `apps`, `gsm8k`, `mmlu`, `evalplus`, `ifeval`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "metadata: {id: f}\ndataset:\n  path: rows.jsonl\n  format: jsonl\n  case:\n    id: \"{{ row.id }}\"\n    input: \"{{ row.q }}\"\n    expected: z\n",
        said: &[
            "3:9 dataset-row: rows.jsonl:2: the id `1` is already used on line 1 | ids must be unique in an eval",
            "3:9 dataset-row: rows.jsonl:3: not JSON: expected ident (column 2)",
            "7:12 dataset-row: rows.jsonl:4: the row has no `row.q`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "metadata: {id: f}\ndataset:\n  path: rows.csv\n  format: csv\n  case:\n    id: \"{{ row.id }}\"\n    inptu: \"{{ row.q }}\"\n    expected: z\n",
        said: &[
            "7:5 unknown-key: unknown key `inptu` | did you mean `input`?",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "metadata: {id: f}\ndataset:\n  path: rows.csv\n  format: csv\n  case:\n    id: \"{{ row.id }}\"\n    input: \"{{ row.q }}\"\n    expected: z\n",
        said: &[
            "3:9 dataset-row: rows.csv:3: 1 fields, but the header has 2",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "metadata: {id: f}\ndataset: {path: rows.jsonl, format: json, case: {id: x, input: y, expected: z}}\n",
        said: &[
            "2:17 dataset-unreadable: `rows.jsonl` line 1: expected a JSON array",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "metadata: {id: f}\ndataset: {path: rows.jsonl, format: humaneval}\n",
        said: &[
            "2:17 dataset-row: rows.jsonl:1: the record has no `task_id`",
            "2:17 dataset-row: rows.jsonl:2: the record has no `task_id`",
            "2:17 dataset-row: rows.jsonl:3: not JSON: expected ident (column 2)",
            "2:17 dataset-row: rows.jsonl:4: the record has no `task_id`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: r\n  current: {input: {a: 1}}\n  comparison: {type: structural}\n",
        said: &[
            "1:7 warning grader-incomplete: there is no baseline to compare with | write `baseline: {output: ...}`, or capture one with `eval-harness baseline capture`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: r\n  baseline: {output: {id: '{{any_uuidd}}'}}\n  current: {input: x}\n",
        said: &[
            "2:27 bad-matcher: unknown matcher any_uuidd; did you mean any_uuid?",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: r\n  baseline: {output: {a: b}}\n  current: {input: x}\n  comparison: {type: numeric}\n",
        said: &[
            "4:15 grader-incomplete: `comparison: numeric` compares numbers, but the baseline has none to compare",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: r\n  baseline: {output: {a: b}}\n  current: {input: x, execution: {type: http, base_url: ftp://x}}\n  comparison: {type: exact}\n  grader: {type: code, config: {method: contains, must_include: x}}\n",
        said: &[
            "3:57 bad-request: `ftp://x` is not an HTTP address | an HTTP address begins with `http://` or `https://` and a host, such as `http://127.0.0.1:8080/api`",
            "4:15 grader-conflict: `comparison` and `grader` define two different ways to compare | keep one of them",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "graders:\n  g: {type: code, config: {case_sensitive: false}}\ndefaults: {code: h}\n",
        said: &[
            "2:6 cannot-infer-grader: the grader has no `method`, and neither its settings nor `expected.type` determine one | add `method:` under `config:`, one of exact_match, contains, regex, numeric, json, structural_match, function_output, code_execution, similarity, instructions, diff, files, workspace_tests, trajectory, tool_calls, command",
            "3:18 unknown-grader: unknown grader `h`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "thresholds: {pass_at_1: 2, pass@1: 0.5, nope: 1, latency_p95_ms: {on: ci_lower, max: 3}}\n",
        said: &[
            "1:14 both-spellings: `pass@1` and `pass_at_1` are two names of the same metric",
            "1:66 unknown-metric: `latency_p95_ms` has no interval, so `bound` is not allowed",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "phase: {name: x, steps: []}\n",
        said: &[
            "1:18 wrong-length: `steps` must not be empty",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "eval_trigger: {when: now, suite: s.yaml, thresholds: {pas_rate: 1}}\n",
        said: &[
            "1:34 missing-ref: the file `s.yaml` does not exist | paths are relative to the file that contains them",
        ],
    },
    Broken {
        name: "suite.yaml",
        text: "eval_suite:\n  name: s\n  evals: [{$ref: other.yaml}]\n  check: {excused: [{eval: x, probe: [empty output], reason: ' '}]}\n",
        said: &[
            "4:31 unknown-key: unknown key `probe` | did you mean `probes`?",
            "4:62 bad-format: `reason` does not match the pattern `\\S`, found ` `",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: 3\n",
        said: &[
            "4:14 wrong-type: `workspace`: expected a map, found the number `3`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {form: {dir: .}}\n",
        said: &[
            "4:15 unknown-key: unknown key `form` | did you mean `from`?",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {from: {}}\n",
        said: &[
            "4:15 workspace-setting: `from` is empty | write one of `dir`, `git` and `archive`, or remove `from` for an empty folder",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {from: {dir: ., archive: rows.csv}}\n",
        said: &[
            "4:15 workspace-setting: `from` has more than one of `dir`, `git` and `archive` | keep one of them, and write more files under `files:`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {from: {dir: nope}}\n",
        said: &[
            "4:27 missing-ref: the folder `nope` does not exist | paths are relative to the file that contains them",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {from: {dir: ../..}}\n",
        said: &[
            "4:27 escaping-ref: `../..` is outside the project | if that is intended, list the folder under `allow_paths:` in the suite",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {from: {dir: rows.csv}}\n",
        said: &[
            "4:27 bad-path: `rows.csv` is a file, not a folder | write `archive:` for a tar file, and `files:` for single files",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {from: {archive: row.csv}}\n",
        said: &[
            "4:31 missing-ref: the file `row.csv` does not exist | did you mean `rows.csv`?",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {from: {git: {repo: 'https://host/a.git', commit: abc}}}\n",
        said: &[
            "4:34 bad-path: `https://host/a.git` is a URL, but `repo` is a folder on this machine | clone the repository into the project, and write the path of the clone",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {from: {git: {repo: 'git@host:a/b.git', commit: ''}}}\n",
        said: &[
            "4:34 bad-path: `git@host:a/b.git` is a URL, but `repo` is a folder on this machine | clone the repository into the project, and write the path of the clone",
            "4:62 workspace-setting: `commit` is empty | write the full hash of the commit",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {from: {git: {repo: ., commit: --upload-pack=x}}}\n",
        said: &[
            "4:34 bad-path: `.` is not a git repository | write the path of the folder that contains `.git`, or of a bare repository",
            "4:45 workspace-setting: the commit `--upload-pack=x` begins with `-` | write the full hash of the commit",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {from: {git: {repo: ., commit: a b}}}\n",
        said: &[
            "4:34 bad-path: `.` is not a git repository | write the path of the folder that contains `.git`, or of a bare repository",
            "4:45 workspace-setting: the commit `a b` contains a space | write the full hash of the commit",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {from: {git: {repo: .}}}\n",
        said: &[
            "4:22 missing-key: `git` lacks the key `commit` | add `commit`: a text",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {files: {/etc/passwd: x, a/../b: x, .git/config: x, '': x}}\n",
        said: &[
            "4:23 bad-path: `/etc/passwd` is absolute; a path inside of a workspace is relative | write a path relative to the top of the workspace, such as `src/app.py`",
            "4:39 bad-path: `a/../b` has an empty part, `.` or `..` | write a path relative to the top of the workspace, such as `src/app.py`",
            "4:50 bad-path: `.git/config` is in `.git`, which a workspace does not have | write a path relative to the top of the workspace, such as `src/app.py`",
            "4:66 bad-path: an empty path | write a path relative to the top of the workspace, such as `src/app.py`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {files: {a: {file: nope.txt}, b: 3, c: {path: x}}}\n",
        said: &[
            "4:47 wrong-type: `b`: expected a text or a map, found the number `3` | put quotes around it",
            "4:50 missing-key: `c` lacks the key `file` | add `file`: a text",
            "4:54 unknown-key: unknown key `path` | valid keys: `file`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {files: {a: x, a/b/c: y}}\n",
        said: &[
            "4:3 workspace-setting: `files` has a file `a`, so `a/b/c` cannot be below it | change one of the two paths; `files` of all levels are merged",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {setup: [[], ['']]}\n",
        said: &[
            "4:23 bad-command: the command has no program | write each command as a list, such as `[npm, ci]`",
            "4:27 bad-command: the command has no program | write each command as a list, such as `[npm, ci]`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {env: {'A=B': x}, cwd: ../x}\n",
        said: &[
            "4:21 workspace-setting: `A=B` is not the name of an environment variable | write `env: {NAME: VALUE}`",
            "4:37 bad-path: `../x` has an empty part, `.` or `..` | write a path relative to the top of the workspace, such as `src/app.py`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {setup: [[], ['']], teardown: [npm ci]}\n",
        said: &[
            "4:45 wrong-type: element 1 of `teardown`: expected a list of texts, found the text `npm ci` | each command is a list: `teardown: [[npm, ci]]`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {hidden: ['[a', /tests/**], protected: [./tests/**, '']}\n",
        said: &[
            "4:24 bad-glob: `[a` is not a glob: unclosed character class; missing ']' | write it relative to the top of the workspace, such as `tests/**`",
            "4:30 bad-glob: `/tests/**` matches nothing: it begins with `/` | write it relative to the top of the workspace, such as `tests/**`",
            "4:54 bad-glob: `./tests/**` matches nothing: it has an empty part, `.` or `..` | write it relative to the top of the workspace, such as `tests/**`",
            "4:66 bad-glob: `` matches nothing: it has an empty part, `.` or `..` | write it relative to the top of the workspace, such as `tests/**`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {env: {'A=B': x, C: 1}, cwd: ../x}\n",
        said: &[
            "4:34 wrong-type: `C`: expected a text, found the number `1` | put quotes around it",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {keep: sometimes, network: host, memory_mb: 0, disk_mb: 1.5, setup_timeout_seconds: 0}\n",
        said: &[
            "4:21 unknown-value: `sometimes` is not a valid value of `keep`: expected one of `never`, `always`, `failed`",
            "4:41 unknown-value: `host` is not a valid value of `network`: expected one of `none`, `all`",
            "4:58 out-of-range: `memory_mb` must be at least 16, found `0`",
            "4:70 wrong-type: `disk_mb`: expected a whole number, found the number `1.5`",
            "4:98 out-of-range: `setup_timeout_seconds` must be at least 0.001, found `0`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "metadata: {id: a}\nworkspace: {from: {dir: nope}}\ndataset:\n  path: rows.csv\n  case: {id: '{{ row.id }}', input: x, expected: y, workspace: {files: {../x: y}}}\n",
        said: &[
            "2:25 missing-ref: the folder `nope` does not exist | paths are relative to the file that contains them",
            "4:9 dataset-row: rows.csv:3: 1 fields, but the header has 2",
            "5:73 dataset-row: rows.csv:2: `../x` has an empty part, `.` or `..` | write a path relative to the top of the workspace, such as `src/app.py`",
        ],
    },
    Broken {
        name: "file.yaml",
        text: "- id: a\n  input: x\n  expected: y\n  workspace: {from: app, setup: [npm, ci], hidden: tests/**}\n",
        said: &[
            "4:21 wrong-type: `from`: expected a map, found the text `app` | write `from: {dir: app}`",
            "4:34 wrong-type: element 1 of `setup`: expected a list of texts, found the text `npm` | each command is a list: `setup: [[npm, ci]]`",
            "4:52 wrong-type: `hidden`: expected a list of texts, found the text `tests/**` | write a list: `hidden: [\"tests/**\"]`",
        ],
    },
    Broken {
        name: "suite.yaml",
        text: "eval_suite:\n  name: s\n  target: {type: command, command: [sh]}\n  workspace: {}\n  evals:\n    - {id: a, input: x, expected: y, solution: {comand: [sh]}}\n    - {id: b, input: x, expected: y, solution: {dir: nope, command: [sh]}}\n    - {id: c, input: x, expected: y, solution: 5}\n    - {id: d, input: x, expected: y, solution: {command: sh}}\n",
        said: &[
            "6:49 unknown-key: unknown key `comand` | did you mean `command`?",
            "7:60 workspace-setting: `solution` has both `dir` and `command` | keep one of them",
            "8:38 wrong-type: `solution`: expected a text, `{dir: FOLDER}` or `{command: [PROGRAM, ...]}`, found a number",
            "9:49 wrong-type: `command`: expected a list of texts, found a text | write the program and its arguments as a list: `command: [sh]`",
        ],
    },
    // An output is no answer where only the workspace decides, whatever the target's format.
    Broken {
        name: "suite.yaml",
        text: "eval_suite:\n  name: s\n  target: {type: command, command: [sh], output: json}\n  workspace: {}\n  evals:\n    - {id: a, input: x, solution: 5, grader: {type: code, config: {method: diff, max_lines: 3}}}\n    - {id: b, input: x, solution: 5, expected: 5}\n    - {id: c, input: x, expected: 5, solution: {command: [sh, [x]]}}\n    - {id: d, input: x, expected: 5, solution: {command: sh solve.sh}}\n",
        said: &[
            "6:25 wrong-type: `solution`: expected a patch, `{dir: FOLDER}` or `{command: [PROGRAM, ...]}`, found a number | the graders of this case look at the workspace only",
            "8:49 wrong-type: element 2 of `command`: expected a text, found a list | write the command as a list, such as `[sh, solve.sh]`",
            "9:49 wrong-type: `command`: expected a list of texts, found a text | write the program and its arguments as a list: `command: [sh, solve.sh]`",
        ],
    },
    Broken {
        name: "suite.yaml",
        text: "eval_suite:\n  name: s\n  target: {type: model, model: 'openai:x'}\n  workspace: {}\n  evals: [{$ref: other.yaml}, {id: a, input: x, expected: y}]\n",
        said: &[
            "4:3 workspace-setting: a target of type `model` cannot work in a workspace | use a target of type `agent`, `command`, `skill` or `recorded`, or of type `http` with `serve`; `workspace: null` in an eval or a case ends the workspace that it inherits",
        ],
    },
    Broken {
        name: "suite.yaml",
        text: "eval_suite:\n  name: s\n  target: {type: echo}\n  evals:\n    - {id: a, input: x, expected: y, workspace: {}}\n    - id: b\n      workspace: {}\n      baseline: y\n      current: {input: {method: GET, endpoint: /}, execution: {type: http, base_url: 'http://127.0.0.1:9'}}\n    - metadata: {id: c}\n      workspace: {}\n      dataset: {path: rows.csv, case: {id: '{{ row.id }}', input: x, expected: y}}\n",
        said: &[
            "5:38 workspace-setting: a target of type `echo` cannot work in a workspace | use a target of type `agent`, `command`, `skill` or `recorded`, or of type `http` with `serve`; `workspace: null` in an eval or a case ends the workspace that it inherits",
            "7:7 workspace-setting: a target of type `http` cannot work in a workspace | use a target of type `agent`, `command`, `skill` or `recorded`, or of type `http` with `serve`; `workspace: null` in an eval or a case ends the workspace that it inherits",
            "11:7 workspace-setting: a target of type `echo` cannot work in a workspace | use a target of type `agent`, `command`, `skill` or `recorded`, or of type `http` with `serve`; `workspace: null` in an eval or a case ends the workspace that it inherits",
        ],
    },
    Broken {
        name: "suite.yaml",
        text: "eval_suite:\n  name: s\n  target: {type: command, command: [cat], sandbox: true, isolation: none}\n  evals: [{$ref: other.yaml}]\n",
        said: &[
            "3:58 workspace-setting: `isolation: none` and `sandbox: true` contradict each other | remove one of them: with `isolation: sandbox`, the program is in the sandbox in a workspace, too",
        ],
    },
    Broken {
        name: "suite.yaml",
        text: "eval_suite:\n  name: s\n  target: {type: command, command: [cat], isolation: docker}\n  evals: [{$ref: other.yaml}]\n",
        said: &[
            "3:54 unknown-value: `docker` is not a valid value of `isolation`: expected one of `sandbox`, `workspace`, `none`",
        ],
    },
    Broken {
        name: "suite.yaml",
        text: "eval_suite:\n  name: s\n  target: {type: echo}\n  evals:\n    - {id: a, input: x, grader: {type: code, config: {method: trajectory, used: [Bash]}}}\n    - {id: b, input: x, grader: {type: model, config: {model: 'openai:m', rubric: 'It ran its tests.', show: [trajectory]}}}\n",
        said: &[
            "5:54 warning suspicious-value: `trajectory` needs a trajectory, but a target of type `echo` has none, so every grade is errored | use a target of type `agent`, or recorded outputs with a `trajectory`",
            "6:111 warning suspicious-value: `show` needs a trajectory, but a target of type `echo` has none, so every grade is errored | use a target of type `agent`, or recorded outputs with a `trajectory`",
        ],
    },
    Broken {
        name: "suite.yaml",
        text: "eval_suite:\n  name: s\n  target: {type: agent, agent: command, command: [cat], timeout_seconds: 5}\n  evals: [{$ref: other.yaml}]\n",
        said: &[
            "3:57 unknown-key: unknown key `timeout_seconds` | the time limit of an agent is `limits: {wall_seconds: SECONDS}`",
        ],
    },
]
