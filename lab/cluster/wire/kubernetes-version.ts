/** The Kubernetes whose answers the embedded cluster gives, word for word; tests compare it with the real one. */
export const kubernetesVersion = "1.36.3"
