# Sources the candidate's script, then runs tests in the same shell. Descriptor 3 holds a token, a mode, a set-up and the
# tests; verdicts go to descriptor 4, each behind the token. A script that merely ends early is caught; one that reads
# descriptor 3 or waits for the tests is not, and the grade says so.
if ! _why=$("$BASH" -n ./solution.sh 2>&1); then
  IFS= read -r -u 3 _token
  printf '%s {"verdict":"syntax"}\t%s\n' "$_token" "${_why//$'\n'/ }" >&4
  exit 0
fi
. ./solution.sh
# Posix mode, which an assignment switches on, finds special builtins before functions of the same name.
POSIXLY_CORRECT=y
unset -f read printf eval exit trap set return test '[' '[[' true false echo command builtin source cd local 2>/dev/null
trap - DEBUG ERR RETURN EXIT
unset POSIXLY_CORRECT
builtin unalias -a 2>/dev/null
set +eu +o noglob
IFS=$' \t\n'
IFS= read -r -u 3 _token
IFS= read -r -u 3 _mode
IFS= read -r -d '' -u 3 _setup
_tests=() _newline=$'\n'
while IFS= read -r -d '' -u 3 _test; do _tests+=("$_test"); done
exec 3<&-
eval "$_setup"
_index=0
for _test in "${_tests[@]}"; do
  if [ "$_mode" = asserts ]; then
    # A subshell: what one line sets, or leaves, is no business of the next.
    ( eval "$_test" && printf '%s {"held":1}\n' "$_token" >&4 )
    _status=$?
  else
    ( set -eE
      trap 'printf "%s {\"line\":1}\t%s\n" "$_token" "${BASH_COMMAND//$_newline/ }" >&4' ERR
      eval "$_test"
      printf '%s {"held":1}\n' "$_token" >&4 )
    _status=$?
  fi
  if [ "$_status" != 0 ]; then
    printf '%s {"verdict":"failed","index":%d,"status":%d}\n' "$_token" "$_index" "$_status" >&4
    exit 0
  fi
  _index=$((_index + 1))
done
printf '%s {"verdict":"passed","held":%d}\n' "$_token" "$_index" >&4
exit 0
