/**
 * Finds clusters by kubeconfigs in files of the operator's pod, which an administrator has mounted: the contexts of one
 * file, or the files of a directory. While they cannot be read, the clusters that were found last stay.
 *
 * Not here: reading files (adapters/files/kubeconfig-files.ts), the clusters' names (domain/fleet/kubeconfig-files.ts),
 * and who joins the fleet (domain/fleet/provided-clusters.ts).
 */

import { join } from "node:path"
import { Effect, Result, type Scope } from "effect"
import { documentOf } from "../../adapters/files/configuration-files.ts"
import { readText, readTexts } from "../../adapters/files/kubeconfig-files.ts"
import { clusterFiles } from "../../domain/fleet/kubeconfig-files.ts"
import { contextsOf } from "../../domain/fleet/kubeconfig.ts"
import { type FoundKubeconfig, FoundClusters, type ProvidedClusters } from "./found-clusters.ts"

/** How often files are read. Kubelets themselves take up to two minutes to update them. */
const pollInterval = "5 seconds"

/** The clusters of files as they are now. */
export interface FilesReading {
  readonly clusters: ReadonlyMap<string, FoundKubeconfig>
  /** Why some files are not used, one sentence each. */
  readonly problems: ReadonlyArray<string>
}

/** The failure is a sentence. */
export type ReadFiles = Effect.Effect<FilesReading, string>

/** Reads files and directories of the operator's pod. */
export interface FileReader {
  readonly readText: typeof readText
  readonly readTexts: typeof readTexts
}

export const filesOfPod: FileReader = { readText, readTexts }

/** One cluster for each context of a file. */
export const contextsIn = (path: string, reader: FileReader = filesOfPod): ReadFiles =>
  Effect.gen(function* () {
    const read = Result.flatMap(yield* reader.readText(path), (text) =>
      Result.map(contextsOf(documentOf(text)), (contexts) => ({ contexts, text }))
    )
    if (Result.isFailure(read)) return yield* Effect.fail(`The kubeconfig ${path} is not used: ${read.failure}.`)
    const { contexts, text } = read.success
    const clusters = contexts.map((context): [string, FoundKubeconfig] => [
      context,
      { from: `kubeconfig ${path}`, place: { _tag: "File", path, context }, text }
    ])
    return { clusters: new Map(clusters), problems: [] }
  })

/** One cluster for each file of a directory. */
export const filesIn = (directory: string, reader: FileReader = filesOfPod): ReadFiles =>
  Effect.gen(function* () {
    const texts = yield* reader.readTexts(directory)
    if (Result.isFailure(texts))
      return yield* Effect.fail(`The directory ${directory} of kubeconfigs is not used: ${texts.failure}.`)
    const { files, problems } = clusterFiles(directory, [...texts.success.keys()])
    const clusters = new Map<string, FoundKubeconfig>()
    const unread: Array<string> = []
    for (const [name, file] of files) {
      const path = join(directory, file)
      const text = texts.success.get(file) ?? Result.succeed("")
      if (Result.isFailure(text)) unread.push(`The kubeconfig ${path} is not used: ${text.failure}.`)
      else
        clusters.set(name, {
          from: `kubeconfig ${path}`,
          place: { _tag: "File", path, context: undefined },
          text: text.success
        })
    }
    return { clusters, problems: [...problems, ...unread] }
  })

/** Follows files while the scope lives; completes when they were read once. */
export const followFiles = Effect.fnUntraced(function* (
  read: ReadFiles
): Effect.fn.Return<ProvidedClusters, never, Scope.Scope> {
  const found = new FoundClusters()
  let clusters: FilesReading["clusters"] = new Map()
  let known = ""
  const takeUp = Effect.gen(function* () {
    const now = yield* Effect.result(read)
    if (Result.isSuccess(now)) ({ clusters } = now.success)
    const problems = Result.isSuccess(now) ? now.success.problems : [now.failure]
    const next = JSON.stringify([[...clusters], problems])
    if (next === known) return
    known = next
    found.replace(clusters, problems)
  })
  yield* takeUp
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(pollInterval), takeUp)))
  return found
})
