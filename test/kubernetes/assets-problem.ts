import { join } from "node:path"
import { isProgram, type ProgramName } from "../../lab/playground/kubernetes/programs.ts"

/** The environment variable of envtest for the folder with the programs of a control plane. */
export const assetsVariable = "KUBEBUILDER_ASSETS"

/** The programs that the folder lacks for a control plane, with a hint; `undefined` if it has them all. */
export const assetsProblem = (
  folder: string | undefined,
  more: ReadonlyArray<ProgramName> = []
): string | undefined => {
  const hint = "`npm run kubernetes` prints a folder that can be used"
  if (folder === undefined || folder === "") return `${assetsVariable} is not set; ${hint}`
  const missing = ["etcd", "kube-apiserver", "kube-controller-manager", ...more].filter(
    (name) => !isProgram(join(folder, name))
  )
  return missing.length === 0 ? undefined : `${assetsVariable}=${folder} has no ${missing.join(", ")}; ${hint}`
}
