/**
 * The clusters of kubeconfigs in files: their names.
 *
 * Not here: reading a kubeconfig (kubeconfig.ts), and who joins the fleet (provided-clusters.ts).
 */

import { quoted } from "../clean-text.ts"

/** The clusters of a directory. */
export interface ClusterFiles {
  /** The name of the file of each cluster, by the cluster's name. */
  readonly files: ReadonlyMap<string, string>
  /** Why files are not used, one sentence each. */
  readonly problems: ReadonlyArray<string>
}

/**
 * The clusters of a directory by the names of its files, which are those of the clusters, with an ending or without. A
 * kubelet keeps files of its own there, whose names begin with a dot.
 */
export const clusterFiles = (directory: string, fileNames: ReadonlyArray<string>): ClusterFiles => {
  const files = new Map<string, string>()
  const problems: Array<string> = []
  for (const file of fileNames.toSorted()) {
    if (file.startsWith(".")) continue
    const name = file.replace(/\.(?:ya?ml|kubeconfig|conf)$/u, "")
    const other = files.get(name)
    if (other === undefined) files.set(name, file)
    else
      problems.push(
        `File ${quoted(file)} of ${directory} is not used: ${quoted(other)} is for the same cluster; remove one.`
      )
  }
  return { files, problems }
}
