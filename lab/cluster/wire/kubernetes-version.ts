/** The version of Kubernetes whose answers the embedded cluster repeats word for word; tests compare the two. */
export const kubernetesVersion = "1.36.3"
