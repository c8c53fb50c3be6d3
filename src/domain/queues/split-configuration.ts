/**
 * The queues of a workload as its administrators describe them, in one form for both kinds of configuration.
 *
 * Not here: reading the kinds (split-config-reader.ts, queue-registry-reader.ts), and which object is for a workload
 * (chosen-configuration.ts).
 */

import type * as Result from "effect/Result"
import type { QueueKind } from "../resources/queues/queue-shapes.ts"

/** The part of a text from `start` to before `end`, in UTF-16 code units. */
export interface TextSpan {
  readonly start: number
  readonly end: number
}

/** Finds the part of a text that a group of a pattern matches; `undefined` if it matches nowhere. */
export type FindPart = (text: string) => TextSpan | undefined

/** Compiles patterns of administrators, in the dialect of Rust's regular expressions. Failures say what is wrong. */
export interface PatternCompiler {
  /** Whether a pattern matches anywhere in a text. The case of letters counts, as it does in names of variables. */
  readonly matcher: (pattern: string) => Result.Result<(text: string) => boolean, string>
  /** The group is the first of `names` that the pattern has, else its first one; without any it fails. */
  readonly finder: (pattern: string, names: ReadonlyArray<string>) => Result.Result<FindPart, string>
}

/** How the value of a variable names queues, each by its name or URL. */
export type ValueForm =
  | { readonly _tag: "Whole" }
  /** Each value of a JSON object, all of which must be texts. */
  | { readonly _tag: "JsonMap" }
  /** Texts in a JSON value, to which a jq program leads. */
  | { readonly _tag: "Jq"; readonly program: string }
  | { readonly _tag: "Part"; readonly pattern: string; readonly find: FindPart }

/** The variables of a workload that name a queue. */
export interface VariableSource {
  readonly variable:
    /** `fallback`: the value where the workload has no such variable; `undefined` if it must have it. */
    | { readonly _tag: "Named"; readonly name: string; readonly fallback: string | undefined }
    | { readonly _tag: "Like"; readonly pattern: string; readonly matches: (name: string) => boolean }
  /** `undefined` for all containers of the application. */
  readonly containers: ReadonlyArray<string> | undefined
  readonly form: ValueForm
}

/** Options of a queue (queue splitting: properties of SQS queues). */
export interface QueueOptions {
  /** Whether bodies are envelopes of SNS, in which filters look for attributes. */
  readonly sns: boolean
  /** Whether messages are S3's notifications, whose objects' metadata filters see. */
  readonly s3Event: boolean
  /** Tags of temporary queues beside those of the original; these win. */
  readonly tags: Readonly<Record<string, string>>
  /** The longest run of a jq program for one message, in ms. */
  readonly jqTimeLimitMillis: number
}

/** The milliseconds that a jq program has where no property says more. */
export const defaultJqTimeLimitMillis = 200

/** Queues of SQS under one id. */
export interface ConfiguredQueue extends QueueOptions {
  /** The id by which sessions name them. */
  readonly id: string
  readonly sources: ReadonlyArray<VariableSource>
}

/** Queues of a broker that is not served. Only a session that names them is refused. */
export interface UnservedQueue {
  readonly id: string
  readonly kind: typeof QueueKind.Type
}

/** How the workload's pods are replaced. */
export interface RestartSettings {
  /** `undefined` for the operator's setting. */
  readonly strategy: "standard" | "isolatePods" | undefined
  readonly timeoutSeconds: number
  /** How many pods must have the new names and be ready before sessions start. */
  readonly waitForPods: number | "all"
}

/** The configuration of a workload's queues. */
export interface SplitConfiguration {
  /** The object that it comes from, for sentences: `MirrordSplitConfig "orders"`. */
  readonly origin: string
  readonly queues: ReadonlyArray<ConfiguredQueue>
  readonly unserved: ReadonlyArray<UnservedQueue>
  /** How long the temporary queue of the workload may take to become empty, in seconds; `undefined` for ever. */
  readonly drainSeconds: number | undefined
  /** How long the split stays as it is after its last session, in seconds. */
  readonly ttlSeconds: number
  readonly restart: RestartSettings
  /** Template of the names of temporary queues; `undefined` for the default one. */
  readonly nameTemplate: string | undefined
}

const byId = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? -1 : 1)

/**
 * The same for configurations by which the same queues are split in the same way, in whatever order and kind of object
 * they stand. A split whose configuration gets another digest has to end: its pods read other variables. Times are left
 * out, since they can change while a split lives, and so are queues that are not served.
 */
export const configurationDigest = (
  { nameTemplate, queues }: Pick<SplitConfiguration, "nameTemplate" | "queues">,
  sha256Hex: (text: string) => string
): string => {
  const chosen = queues
    .toSorted(byId)
    .map(({ tags, ...queue }) => [
      Object.entries(queue).toSorted(([a], [b]) => (a < b ? -1 : 1)),
      Object.entries(tags).toSorted(([a], [b]) => (a < b ? -1 : 1))
    ])
  // JSON leaves the compiled patterns out; their texts stay.
  return sha256Hex(JSON.stringify([nameTemplate ?? null, chosen])).slice(0, 32)
}
