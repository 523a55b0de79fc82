# An outage of the API server: everything else of the node goes on.
# shellcheck shell=bash

api_server() { # stop|start
    local init
    need_root
    init=$(own_box_init) || die "no cluster of $CLUSTER_DIR is up; run \`cluster up\`"
    case $1 in
    stop)
        kill -USR1 "$init"
        wait_for 10 "end of the API server" api_server_is_away
        ;;
    start)
        # Sent to a server that runs, the signal would start a second one.
        api_server_is_away || return 0
        kill -USR2 "$init"
        wait_for 60 "API server" kubectl_admin get --raw /readyz
        ;;
    *) die "\`cluster api-server\` needs stop or start, got: $1" ;;
    esac
}

api_server_is_away() { ! (exec 3<>"/dev/tcp/$NODE_ADDRESS/6443") 2>/dev/null; }
