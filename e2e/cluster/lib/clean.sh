# Ends a cluster, whole or half, and removes all that it left. What is to be removed is found by its name, not by records, so it
# works after a SIGKILL at any moment.
# shellcheck shell=bash

down() {
    need_root
    lock /run 300
    refuse_foreign_cluster
    clean
}

clean() {
    local failed=0
    kill_cluster || failed=1
    disconnect_host || failed=1
    restore_controllers
    remove_cgroups || failed=1
    remove_folders || failed=1
    ((!failed)) || die "something of the cluster is left, see above"
}

# The box's mounts were its own and went with it, so what is left are plain files.
remove_folders() {
    local try
    for ((try = 0; try < 20; try++)); do
        rm -rf --one-file-system -- "$STATE" 2>/dev/null && break
        sleep 0.1
    done
    rm -f -- "$KUBECONFIG_FILE" "$KUBECONFIG_FILE.new"
    remove_scratch_folders
    [[ ! -e $STATE ]] || { say "the folder $STATE could not be removed" && return 1; }
}

# Removes scratch folders whose makers were killed.
remove_scratch_folders() {
    local folder pid
    for folder in "$CLUSTER_DIR"/tmp.*.*; do
        pid=${folder##*/tmp.} pid=${pid%%.*}
        [[ ! -d $folder || -e /proc/$pid ]] || rm -rf --one-file-system -- "$folder"
    done
}
