/** An API server for suites of this folder. */
export interface ApiServer {
  /** Of an administrator. */
  readonly kubeconfigPath: string
  readonly apply: (yaml: string) => Promise<void>
}
