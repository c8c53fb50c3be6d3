/**
 * The command `braid join`: prints how the member looks, what was written or would be, and the values for both
 * releases. Credentials are printed only with `--show-secrets`.
 *
 * Not here: the work (join.ts).
 */

import { Effect } from "effect"
import { stringify } from "yaml"
import { verdictOf } from "../../../domain/commands/doctor/finding.ts"
import { findingLines } from "../../../domain/commands/doctor/report.ts"
import { memberValues, primaryValues } from "../../../domain/commands/join/join-request.ts"
import { momentText } from "../../../domain/fleet/credentials/validity.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { Unanswered } from "../overview/ask-cluster.ts"
import { type Output, tell, tellNote, type Told } from "../overview/tell.ts"
import { joinOutbound, type JoinedOutbound, type JoinOutboundOptions } from "./join-outbound.ts"
import { join, type Joined, type JoinOptions } from "./join.ts"
import { joinWrites, secretManifest } from "./perform-join.ts"
import { releaseOf } from "./primary.ts"

export interface JoinCommandOptions extends JoinOptions, Omit<JoinOutboundOptions, keyof JoinOptions> {
  readonly output: Output
  /** Whether the cluster dials the primary. */
  readonly outbound: boolean
}

const isFailed = ({ findings }: Joined): boolean => verdictOf(findings) === "failed"

/** Sentences about the writes: done, or still to do. */
const stateLines = (joined: Joined): ReadonlyArray<string> => {
  const { done, plan, primary, writes } = joined
  const missing =
    plan.entry._tag === "Upgrade"
      ? [`The entry comes with an upgrade of the primary's release: ${plan.entry.why}.`]
      : []
  if (isFailed(joined)) return ["Nothing was written: first put right what failed."]
  if (done !== undefined) return [...(done.length === 0 ? ["Nothing had to be written."] : done), ...missing]
  const planned = joinWrites(primary, writes).map(({ doing }) => `  ${doing}`)
  return planned.length === 0
    ? ["Nothing has to be written.", ...missing]
    : ["Nothing was written. --apply does this:", ...planned, ...missing]
}

const awaitedLines = ({ awaited, request: { name } }: Joined): ReadonlyArray<string> => {
  switch (awaited?._tag) {
    case undefined:
      return []
    case "Connected":
      return [`The primary is connected to cluster ${name}, operator ${awaited.version}.`]
    case "Waiting":
    case "Refused":
      return [`The primary is not connected to cluster ${name}: ${awaited.why}.`]
  }
}

/** The Secret for people who make it by hand. Its values are withheld unless they are asked for. */
const shownSecret = ({ primary, writes }: Joined, showSecrets: boolean): JsonObject | undefined => {
  const { cluster, secret } = writes
  if (secret === undefined || secret.step._tag === "Kept") return undefined
  const withheld = Object.fromEntries(Object.keys(secret.data).map((key) => [key, ""]))
  return secretManifest(primary.namespace, cluster, showSecrets ? { data: secret.data } : { stringData: withheld })
}

const yamlLines = (title: string, value: object): ReadonlyArray<string> => [
  "",
  `# ${title}`,
  ...stringify(value, { lineWidth: 0 }).trimEnd().split("\n")
]

const valuesTitle = (plan: Joined["plan"], primary: Joined["primary"]): string => {
  const release = releaseOf(primary.sources.configMap)
  if (plan.entry._tag === "Upgrade" || release === undefined) return "Values for the release of the primary:"
  return `Values for the primary's release ${release}, whose next upgrade takes the entry out if they do not have it:`
}

/** The outcome in both forms. */
export const joinTold = (joined: Joined, { apply, showSecrets }: Pick<JoinOptions, "apply" | "showSecrets">): Told => {
  const { awaited, done, findings, plan, primary, request, writes } = joined
  const values = {
    member: memberValues(request),
    primary: primaryValues(request, plan.lacksDefault)
  }
  const secret = apply && done !== undefined ? undefined : shownSecret(joined, showSecrets)
  const secretTitle = showSecrets
    ? "The Secret beside the primary's operator:"
    : "The Secret beside the primary's operator; --show-secrets prints the credentials:"
  return {
    value: {
      cluster: request.name,
      verdict: verdictOf(findings),
      findings,
      entry: plan.entry._tag,
      secret: writes.secret?.step._tag ?? "None",
      ...(done === undefined ? {} : { done }),
      ...(awaited === undefined ? {} : { awaited })
    },
    own: { values, ...(secret === undefined ? {} : { manifest: secret }) },
    lines: [
      ...findingLines(findings),
      ...stateLines(joined),
      ...awaitedLines(joined),
      ...yamlLines(`Values for the release on ${request.name}:`, values.member),
      ...yamlLines(valuesTitle(plan, primary), values.primary),
      ...(secret === undefined ? [] : yamlLines(secretTitle, secret))
    ],
    notes: []
  }
}

const outboundLines = ({ done, plan, until, writes }: JoinedOutbound): ReadonlyArray<string> => {
  const missing =
    plan.entry._tag === "Upgrade"
      ? [`The entry comes with an upgrade of the primary's release: ${plan.entry.why}.`]
      : []
  return done === undefined
    ? [
        "Nothing was written. --apply does this, and prints a token:",
        ...writes.map(({ doing }) => `  ${doing}`),
        ...missing
      ]
    : [...done, ...missing, `The token works once, until ${momentText(until)}.`]
}

/** The outcome of a join of a cluster that dials out, in both forms. The token is in the member's values. */
export const joinOutboundTold = (joined: JoinedOutbound): Told => {
  const { dialled, done, plan, primary, request } = joined
  const values = { member: memberValues(request, dialled), primary: primaryValues(request, plan.lacksDefault) }
  return {
    value: { cluster: request.name, entry: plan.entry._tag, ...(done === undefined ? {} : { done }) },
    own: { values },
    lines: [
      ...outboundLines(joined),
      ...yamlLines(`Values for the release on ${request.name}:`, values.member),
      ...yamlLines(valuesTitle(plan, primary), values.primary)
    ],
    notes: []
  }
}

/** Whether all that was asked for is done. */
const isDone = (joined: Joined, { wait }: Pick<JoinOptions, "wait">): boolean => {
  if (isFailed(joined)) return false
  return joined.done === undefined || !wait || joined.awaited?._tag === "Connected"
}

/** Exit code 1 if the cluster cannot join, or is not connected although that was waited for. */
export const runJoin = ({ output, ...options }: JoinCommandOptions): Effect.Effect<number> =>
  Effect.gen(function* () {
    if (options.outbound || options.renew)
      return yield* tell(output, Effect.scoped(Effect.map(joinOutbound(options), joinOutboundTold)))
    if (options.wait && !options.apply) tellNote("--wait acts together with --apply only.")
    const joined = yield* Effect.result(join(options))
    if (joined._tag === "Failure") return yield* tell(output, Effect.fail<Unanswered>(joined.failure))
    const code = yield* tell(output, Effect.succeed(joinTold(joined.success, options)))
    return isDone(joined.success, options) ? code : 1
  }).pipe(Effect.scoped)
