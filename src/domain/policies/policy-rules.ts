/**
 * A policy as it is enforced: its patterns compiled, and everything in it understood. A policy with a part that is not
 * understood is not applied in part: no user may connect until it is corrected.
 *
 * Not here: what the rules mean for a message (incoming-rules.ts, file-rules.ts, outgoing-rules.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { compileRegex, type Regex } from "../regex.ts"
import type { Policy } from "../resources/policies/mirrord-policies.ts"
import { type Network, type NetworkBlock, parseNetworkBlock } from "./network-block.ts"
import { bounded, checkFields, type KnownFields, readRules, readTarget, refuse, short } from "./readable-rules.ts"
import type { TargetPattern } from "./target-pattern.ts"

/** The most steps that the regular expressions of one policy have together: some MB of memory. */
const maxSteps = 50_000

/** A rule for outgoing connections: all parts that are there must match. */
export interface OutgoingRule {
  readonly hostname: Regex | undefined
  readonly network: Network | undefined
  /** None: all ports of all protocols. */
  readonly ports: ReadonlyArray<{ readonly port: number; readonly protocol: "TCP" | "UDP" }>
}

/** One policy. */
export interface PolicyRules {
  /** Name of the object. */
  readonly name: string
  readonly target: TargetPattern
  /** Whether it holds for sessions on copies of its targets too. */
  readonly appliesToCopies: boolean
  readonly blocks: ReadonlySet<Policy["spec"]["block"][number]>
  /** Matches a header filter of each subscription to steal. */
  readonly headerFilter: Regex | undefined
  readonly requiresProfile: boolean
  /** `undefined` for any profile. */
  readonly profiles: ReadonlySet<string> | undefined
  /** Patterns of names. */
  readonly hiddenVariables: ReadonlyArray<string>
  readonly files: {
    readonly local: ReadonlyArray<Regex>
    readonly notFound: ReadonlyArray<Regex>
    readonly readOnly: ReadonlyArray<Regex>
  }
  readonly outgoing: { readonly allow: ReadonlyArray<OutgoingRule>; readonly block: ReadonlyArray<OutgoingRule> }
  /** The same for policies that say the same, and different for others. */
  readonly text: string
}

const regex = (path: string, pattern: string, ignoreCase: boolean): Regex => {
  const compiled = compileRegex(pattern, { ignoreCase })
  return Result.isSuccess(compiled) ? compiled.success : refuse(path, compiled.failure)
}

/** Cases do not count in patterns of paths, as in the configuration of the client: more files match then. */
const paths = (path: string, patterns: ReadonlyArray<string> = []): ReadonlyArray<Regex> =>
  bounded(path, patterns).map((pattern, i) => regex(`${path}[${i}]`, pattern, true))

const networkBlock = (path: string, cidr: string): NetworkBlock =>
  parseNetworkBlock(cidr) ?? refuse(path, `${quoted(cidr)} is no network such as 10.0.0.0/8`)

type OutgoingSpec = NonNullable<NonNullable<Policy["spec"]["network"]>["outgoing"]>

const outgoingRules = (path: string, rules: OutgoingSpec["allow"] = []): ReadonlyArray<OutgoingRule> =>
  bounded(path, rules).map(({ hostname, ipBlock, ports = [] }, i) => {
    const at = `${path}[${i}]`
    return {
      hostname: hostname === undefined || hostname === null ? undefined : regex(`${at}.hostname`, hostname, true),
      network:
        ipBlock === undefined || ipBlock === null
          ? undefined
          : {
              block: networkBlock(`${at}.ipBlock.cidr`, ipBlock.cidr),
              except: bounded(`${at}.ipBlock.except`, ipBlock.except ?? []).map((cidr, j) =>
                networkBlock(`${at}.ipBlock.except[${j}]`, cidr)
              )
            },
      ports: bounded(`${at}.ports`, ports)
    }
  })

/** The fields that are understood, by the path of the object that has them. */
const knownFields: KnownFields = {
  spec: [
    "block",
    "targetPath",
    "selector",
    "appliesToCopyTargets",
    "requireProfile",
    "profileAllowlist",
    "env",
    "fs",
    "network"
  ],
  "spec.selector": ["matchLabels", "matchExpressions"],
  "spec.env": ["exclude"],
  "spec.fs": ["readOnly", "local", "notFound"],
  "spec.network": ["incoming", "outgoing"],
  "spec.network.incoming": ["httpFilter"],
  "spec.network.incoming.httpFilter": ["headerFilter"],
  "spec.network.outgoing": ["allow", "block"]
}

type Spec = Policy["spec"]

const headerFilterOf = ({ network }: Spec): Regex | undefined => {
  const pattern = network?.incoming?.httpFilter?.headerFilter ?? undefined
  return pattern === undefined ? undefined : regex("spec.network.incoming.httpFilter.headerFilter", pattern, false)
}

const filesOf = ({ fs }: Spec): PolicyRules["files"] => ({
  local: paths("spec.fs.local", fs?.local),
  notFound: paths("spec.fs.notFound", fs?.notFound),
  readOnly: paths("spec.fs.readOnly", fs?.readOnly)
})

const outgoingOf = ({ network }: Spec): PolicyRules["outgoing"] => ({
  allow: outgoingRules("spec.network.outgoing.allow", network?.outgoing?.allow),
  block: outgoingRules("spec.network.outgoing.block", network?.outgoing?.block)
})

const sizeOf = ({ files, headerFilter, outgoing }: PolicyRules): number => {
  const names = [...outgoing.allow, ...outgoing.block].map(({ hostname }) => hostname)
  const all = [headerFilter, ...names, ...files.local, ...files.notFound, ...files.readOnly]
  return all.reduce((sum, pattern) => sum + (pattern?.size ?? 0), 0)
}

const compile = (policy: Policy): PolicyRules => {
  const { metadata, spec } = policy
  const { appliesToCopyTargets, block, env, profileAllowlist, requireProfile } = spec
  const rules: PolicyRules = {
    name: metadata.name,
    target: readTarget(metadata.namespace, spec),
    appliesToCopies: appliesToCopyTargets === true,
    blocks: new Set(block),
    headerFilter: headerFilterOf(spec),
    requiresProfile: requireProfile === true,
    profiles: profileAllowlist === undefined || profileAllowlist === null ? undefined : new Set(profileAllowlist),
    hiddenVariables: bounded("spec.env.exclude", env?.exclude ?? []).map((name, i) =>
      short(`spec.env.exclude[${i}]`, name)
    ),
    files: filesOf(spec),
    outgoing: outgoingOf(spec),
    text: JSON.stringify([metadata.namespace ?? null, metadata.name, spec])
  }
  if (sizeOf(rules) > maxSteps) refuse("spec", "its regular expressions are too large together; repeat less in them")
  return rules
}

/**
 * Compiles a policy. `raw`: the object as the API server has it, with the fields that our view does not show. The
 * failure names the field, what was found and what would be right.
 */
export const readPolicy = (
  policy: Policy,
  raw: { readonly [field: string]: unknown }
): Result.Result<PolicyRules, string> =>
  readRules(() => {
    checkFields(knownFields, "spec", raw["spec"])
    return compile(policy)
  })
