# The llm-d data path: images and custom resources. Its manifests are in llm-d/, to be applied to any namespace.
# shellcheck shell=bash

llm_d_images() {
    add_images "${LLM_D_PARTS[@]}"
    kubectl_admin apply --server-side --filename "$PARTS/llm-d-crds" >&2
    wait_for 30 "InferencePool API" kubectl_admin get inferencepools.inference.networking.k8s.io --all-namespaces
}
