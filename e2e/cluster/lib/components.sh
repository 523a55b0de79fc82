# The node's components as seen from the machine: which have ended, and their last log lines.
# shellcheck shell=bash

# The components in the order in which they start; a cluster that is up runs them all.
COMPONENTS=(etcd containerd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy)

# Prints the components that have ended on one line; nothing if all of them run.
ended_components() {
    if ! own_box_init >/dev/null; then
        echo "the node's first process"
    elif [[ -d $STATE/exited ]]; then
        find "$STATE/exited" -type f -printf '%f\n' | sort | paste -sd ' '
    fi
}

# Shows what went wrong: the last log lines of the components that have ended or, if none has, what the pods wait for and the
# last errors of every component.
show_logs() {
    local component ended
    read -r -a ended <<<"$(find "$STATE/exited" -type f -printf '%f ' 2>/dev/null || true)"
    show_log init 15 .
    if ((${#ended[@]})); then
        for component in "${ended[@]}"; do show_log "$component" 15 .; done
        return
    fi
    kubectl_admin get pods --all-namespaces >&2 2>/dev/null || true
    kubectl_admin get events --all-namespaces --field-selector type=Warning 2>/dev/null | tail -n 10 | cut -c 1-300 >&2 || true
    for component in "${COMPONENTS[@]}"; do show_log "$component" 5 '^E[0-9]|level=(error|fatal)|"level":"(error|fatal)"'; done
}

# Prints the last LINES lines of a component's log that match.
show_log() { # COMPONENT LINES PATTERN
    local text
    text=$(grep -E -- "$3" "$STATE/log/$1" 2>/dev/null | tail -n "$2" | cut -c 1-300 || true)
    [[ -z $text ]] || printf -- '--- %s:\n%s\n' "$1" "$text" >&2
}
