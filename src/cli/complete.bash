_eval_harness_complete() {
    local IFS=$'\013'
    local complete_space=true
    if compopt +o nospace 2> /dev/null; then
        complete_space=false
    fi
    # Bash breaks words at `=` and `:`, as in `--eval=id`. Pieces without a blank between them are one argument.
    local words=() index=0 current="" line=$COMP_LINE i piece joined
    for i in "${!COMP_WORDS[@]}"; do
        piece=${COMP_WORDS[i]}
        joined=false
        if [[ $i -gt 0 && $i -le $COMP_CWORD && $line != [[:space:]]* ]]; then
            joined=true
        fi
        line=${line#"${line%%[![:space:]]*}"}
        line=${line:${#piece}}
        # Of the current word, what is before the cursor.
        if [[ $i -eq $COMP_CWORD && ${BASH_VERSINFO[0]} -ge 4 && ! $piece =~ ^[=:]+$ ]]; then
            piece=$2
        fi
        if [[ $joined == true ]]; then
            words[${#words[@]}-1]+=$piece
        else
            words+=("$piece")
        fi
        if [[ $i -eq $COMP_CWORD ]]; then
            index=$((${#words[@]} - 1))
            current=${words[index]}
        fi
    done
    COMPREPLY=( $( \
        _CLAP_IFS="$IFS" \
        _CLAP_COMPLETE_INDEX="$index" \
        _CLAP_COMPLETE_COMP_TYPE="$COMP_TYPE" \
        _CLAP_COMPLETE_SPACE="$complete_space" \
        EVAL_HARNESS_COMPLETE="bash" \
        eval-harness -- "${words[@]}" \
    ) )
    if [[ $? != 0 ]]; then
        unset COMPREPLY
        return
    fi
    # Bash replaces only the last piece, which it passes as `$2`.
    local before=${current%"$2"}
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
    if [[ $complete_space == false && "${COMPREPLY-}" =~ [=/:]$ ]]; then
        compopt -o nospace
    fi
}
if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -o nospace -o bashdefault -o nosort -F _eval_harness_complete eval-harness
else
    complete -o nospace -o bashdefault -F _eval_harness_complete eval-harness
fi
