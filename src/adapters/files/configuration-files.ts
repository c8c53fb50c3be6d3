/**
 * Configuration files as documents, read once or followed: implements the port `FleetFiles`.
 *
 * Not here: what a document may hold (domain/fleet).
 */

import { readFile, realpath } from "node:fs/promises"
import { type Duration, Effect, Equal } from "effect"
import { LineCounter, parseDocument } from "yaml"
import type { ConfigurationDocument, FleetDocuments } from "../../domain/fleet/parse-configuration.ts"
import type { FleetFiles } from "../../ports/fleet-files.ts"

/** How often files are read. Kubelets themselves take up to two minutes to update them. */
const pollInterval: Duration.Input = "5 seconds"

/** Parses the text of a configuration file. An empty file counts as absent. */
export const documentOf = (text: string): ConfigurationDocument => {
  if (text.trim() === "") return { _tag: "Absent" }
  const lineCounter = new LineCounter()
  // A pretty error quotes the text, and all who may read the operator's object see the reason.
  const document = parseDocument(text, { lineCounter, prettyErrors: false })
  const [error] = document.errors
  if (error !== undefined) {
    const { col, line } = lineCounter.linePos(error.pos[0])
    return { _tag: "NotYaml", reason: `${error.message} at line ${line}, column ${col}` }
  }
  try {
    const value: unknown = document.toJS()
    // Fails for a list or map that is in itself.
    JSON.stringify(value)
    return { _tag: "Parsed", value }
  } catch (unusable) {
    return { _tag: "NotYaml", reason: String(unusable) }
  }
}

export const readDocument = (path: string | undefined): Effect.Effect<ConfigurationDocument> =>
  path === undefined
    ? Effect.succeed({ _tag: "Absent" })
    : Effect.tryPromise(() => readFile(path, "utf8")).pipe(
        Effect.map(documentOf),
        Effect.catch((error) =>
          Effect.succeed<ConfigurationDocument>({ _tag: "Unreadable", reason: String(error.cause) })
        )
      )

/** The places of a fleet's files, and the settings that go with them. */
export interface FleetPaths extends Pick<FleetDocuments, "managementOnly" | "findsClusters"> {
  readonly multiCluster: string
  readonly clusters: string | undefined
}

/** The files behind the links: a kubelet changes a mounted ConfigMap by exchanging the link `..data`. */
const targets = ({ clusters, multiCluster }: FleetPaths): Effect.Effect<ReadonlyArray<string>> =>
  Effect.promise(() => Promise.all([multiCluster, clusters ?? ""].map((path) => realpath(path).catch(() => "missing"))))

/** The files of one moment: read again if the links were exchanged meanwhile. */
export const readFleetFiles = Effect.fnUntraced(function* (paths: FleetPaths): Effect.fn.Return<FleetDocuments> {
  const before = yield* targets(paths)
  const multiCluster = yield* readDocument(paths.multiCluster)
  const clusters = yield* readDocument(paths.clusters)
  const isOfOneMoment = Equal.equals(before, yield* targets(paths))
  return isOfOneMoment
    ? { multiCluster, clusters, managementOnly: paths.managementOnly, findsClusters: paths.findsClusters }
    : yield* readFleetFiles(paths)
})

/** Follows the files by reading them again and again: file systems do not report exchanged links reliably. */
export const fleetFiles = (paths: FleetPaths): FleetFiles => ({
  after: Effect.fnUntraced(function* (known) {
    for (;;) {
      const found = yield* readFleetFiles(paths)
      if (!Equal.equals(found, known)) return found
      yield* Effect.sleep(pollInterval)
    }
  })
})
