# Stops a cluster, even one that started only in part, and removes all that it left. It finds everything by name and not by
# records, so that it works after a SIGKILL at any moment.
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

# The box's mounts ended with its mount namespace, so that only plain files are left.
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

# Removes temporary folders of processes that were killed.
remove_scratch_folders() {
    local folder pid
    for folder in "$CLUSTER_DIR"/tmp.*.*; do
        pid=${folder##*/tmp.} pid=${pid%%.*}
        [[ ! -d $folder || -e /proc/$pid ]] || rm -rf --one-file-system -- "$folder"
    done
}
