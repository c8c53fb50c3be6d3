/**
 * The command `braid report`: writes what a fleet says of itself into one archive, to be sent to people who help.
 *
 * Not here: what stands in it (domain/commands/overview/report-contents.ts), and which clusters
 * (overview/readable-clusters.ts).
 */

import { writeFile } from "node:fs/promises"
import { Clock, Effect, Result } from "effect"
import { createTarGzip } from "nanotar"
import { stringify } from "yaml"
import { lineSource, mergedLines } from "../../../domain/commands/overview/log-lines.ts"
import { collections, withoutSecrets } from "../../../domain/commands/overview/report-contents.ts"
import { parseSince } from "../../../domain/commands/overview/since.ts"
import { timestamp } from "../../../domain/resources/object-meta.ts"
import { version } from "../../kernel/version.ts"
import { OperatorLogs } from "../logs/operator-logs.ts"
import { unanswered, type Unanswered } from "../overview/ask-cluster.ts"
import { type ReadableCluster, readableClusters } from "../overview/readable-clusters.ts"
import { tellNote, tellUnanswered } from "../overview/tell.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"

export interface ReportOptions extends KubeConfigChoice {
  /** Namespace of the operators. */
  readonly namespace: string
  /** A time span such as `1h`, for the logs. */
  readonly since: string
  /** Path of the archive, which must not exist yet. */
  readonly file: string
}

interface ReportFile {
  readonly name: string
  readonly text: string
}

interface Contents {
  readonly files: ReadonlyArray<ReportFile>
  readonly problems: ReadonlyArray<string>
}

/** A cluster's folder. Names may have slashes, such as that of an ARN. */
const folderOf = (cluster: string): string => encodeURIComponent(cluster).replace(/^\.+$/u, "_")

/** Collections that are read at a time from one cluster. */
const concurrency = 4

/** One collection as a list, unless it has nothing or the cluster does not serve it. */
const collection = (
  { api, name }: ReadableCluster,
  namespace: string,
  { part, resource, within }: (typeof collections)[number]
): Effect.Effect<Contents> => {
  const { group, plural, scope, version: served } = resource
  return api.list({ group, plural, scope, version: served }, within === "operator" ? { namespace } : {}).pipe(
    Effect.map(({ items }): Contents => {
      const parts = items.flatMap((item) => part(item, namespace) ?? [])
      const file = {
        name: `${folderOf(name)}/${plural}.yaml`,
        text: stringify(parts, { lineWidth: 0, aliasDuplicateObjects: false })
      }
      return { files: parts.length === 0 ? [] : [file], problems: [] }
    }),
    Effect.catch((error) => {
      const { message } = unanswered(error, plural)
      return Effect.succeed<Contents>({
        files: [],
        problems: error.reason === "NotFound" ? [] : [`${name}: ${message}`]
      })
    })
  )
}

const logs = (cluster: ReadableCluster, namespace: string, sinceSeconds: number): Effect.Effect<Contents> => {
  const wanted = { namespace, isWanted: () => true, sinceSeconds, previous: false }
  const read = (previous: boolean) => new OperatorLogs(cluster, { ...wanted, previous }).untilNow
  return Effect.map(Effect.all([read(false), read(true)]), ([now, before]) => {
    const file = (name: string, found: typeof now): ReadonlyArray<ReportFile> => {
      const lines = mergedLines(found.logs).map((line) => `${lineSource(line)}  ${line.text}`)
      return lines.length === 0 ? [] : [{ name: `${folderOf(cluster.name)}/${name}`, text: `${lines.join("\n")}\n` }]
    }
    // Most containers have had no run before this one, so nothing is said of those.
    return {
      files: [...file("operators.log", now), ...file("operators-before.log", before)],
      problems: now.problems.map(({ message }) => message)
    }
  })
}

const contentsOf = (
  clusters: ReadonlyArray<ReadableCluster>,
  namespace: string,
  sinceSeconds: number
): Effect.Effect<Contents> =>
  Effect.forEach(
    clusters.flatMap((cluster) => [
      ...collections.map((each) => collection(cluster, namespace, each)),
      logs(cluster, namespace, sinceSeconds)
    ]),
    (read) => read,
    { concurrency: concurrency * clusters.length }
  ).pipe(
    Effect.map((read) => ({
      files: read.flatMap(({ files }) => files),
      problems: [...new Set(read.flatMap(({ problems }) => problems))]
    }))
  )

const archived = (files: ReadonlyArray<ReportFile>): Promise<Uint8Array> =>
  createTarGzip(
    files.map(({ name, text }) => ({
      name: `braid-report/${name}`,
      data: withoutSecrets(text),
      attrs: { mode: "600" }
    }))
  )

/** Writes a new file that only its owner may read. */
const written = (file: string, bytes: Uint8Array): Effect.Effect<void, Unanswered> =>
  Effect.tryPromise({
    try: () => writeFile(file, bytes, { flag: "wx", mode: 0o600 }),
    catch: (cause) => ({
      message: `${file} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}.`,
      fix: "Name a file that does not exist, in a folder that does: --output."
    })
  })

/** Writes the report; the sentences say what it has, and what it lacks. */
export const writeReport = (options: ReportOptions): Effect.Effect<ReadonlyArray<string>, Unanswered> =>
  Effect.gen(function* () {
    const { file, namespace, since } = options
    const sinceSeconds = yield* Effect.fromResult(parseSince(since))
    const { clusters, leftOut, notes } = yield* readableClusters(options, undefined)
    const { files, problems } = yield* contentsOf(clusters, namespace, sinceSeconds)
    const missing = [...notes, ...leftOut, ...problems]
    if (files.length === 0)
      return yield* Effect.fail({
        message: missing.join(" ") || "Nothing could be read.",
        fix: "braid doctor says more."
      })
    const at = timestamp(yield* Clock.currentTimeMillis)
    const about = {
      name: "report.yaml",
      text: stringify({ at, braid: version, clusters: clusters.map(({ name }) => name), namespace, since, missing })
    }
    yield* written(file, yield* Effect.promise(() => archived([about, ...files])))
    const names = clusters.map(({ name }) => name).join(", ")
    return [
      `${file} has ${files.length} files about ${names}. It has no Secrets; look through it before you send it.`,
      ...missing
    ]
  }).pipe(Effect.scoped)

export const runReport = (options: ReportOptions): Effect.Effect<number> =>
  Effect.result(writeReport(options)).pipe(
    Effect.map((result) => {
      if (Result.isFailure(result)) {
        tellUnanswered(result.failure)
        return 1
      }
      const [done = "", ...missing] = result.success
      console.log(done)
      for (const each of missing) tellNote(each)
      return 0
    })
  )
