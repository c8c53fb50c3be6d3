/** Verbs that describe the world before the story begins. */

import { clusterProviders } from "../../../../src/domain/fleet/provided-clusters.ts"
import type { TokenPlan } from "../../world/account-tokens.ts"
import { configuredAuths, kubeconfigAuths, type MemberPlan } from "../../world/member-plan.ts"
import { after, cases, choice, flag, literal, name, number, optional, options, time, where, oneWord } from "../parts.ts"
import { clusterName, workload } from "../things.ts"
import { type PlanDraft, setup, type Verb } from "../verb.ts"
import { signedDuration, wholeSeconds } from "../words.ts"

const aCluster = name("<name>", "a cluster's name")
const pods = number("<n>", "a number of pods")

const setTokens = (plan: PlanDraft, cluster: string, { lifetime, ...more }: Partial<TokenPlan>): void => {
  plan.tokens = { ...plan.tokens, [cluster]: { lifetime: lifetime ?? 0, longest: Infinity, skew: 0, ...more } }
}

/** A member whose credentials end after so long and are replaced in time. */
const setMember = (plan: PlanDraft, cluster: string, member: MemberPlan, lifetime: number): void => {
  plan.members = { ...plan.members, [cluster]: member }
  setTokens(plan, cluster, { lifetime })
}

const seconds = oneWord("<duration>", wholeSeconds)
const replicaCount = where(
  number("<n>", "a number of replicas"),
  (count) => count > 0,
  "0 is not a number of replicas: write 1 or more"
)
/**
 * The shortest life of a certificate, ms. The product's own is an hour, and what breaks stories of certificates that
 * end at once says nothing of it.
 */
const shortest = 10 * 60_000
const certificateTime = where(
  time,
  (ms) => ms >= shortest,
  "certificates of tunnels last for 10 minutes at least: write 30m"
)
const pingTime = where(time, (ms) => ms > 0, "0 is no time between two pings: write 30s")

/** Providers by which a member is found with a kubeconfig, which holds credentials of a kind. */
const withKubeconfig = { auth: after("with", choice(kubeconfigAuths)) }

export const planVerbs: ReadonlyArray<Verb> = [
  setup({
    name: "cluster",
    words: { cluster: aCluster, more: options({ default: flag, primary: flag, pods }) },
    summary: "A workload cluster; `pods 0`: it has no such target, `primary`: its operator is the primary too.",
    set: (plan, { cluster, more }) => {
      plan.clusters = [...plan.clusters, { name: cluster, pods: more.pods ?? 1 }]
      if (more.default) plan.defaultCluster = cluster
      if (more.primary) plan.primary = cluster
    }
  }),
  setup({
    name: "primary",
    words: { cluster: aCluster, too: optional(literal("too")) },
    summary:
      "Names the primary; a cluster of its own that runs no workloads, unless it is among the clusters. too: it is a " +
      "second one, of the same clusters, where branches are ordered and no sessions begin.",
    set: (plan, { cluster, too }) => {
      if (too === undefined) plan.primary = cluster
      else plan.secondPrimary = cluster
    }
  }),
  setup({
    name: "replicas",
    words: { cluster: clusterName, count: replicaCount },
    summary:
      "A cluster's operator has so many replicas, which elect a leader by a Lease. Without it there is one, and no " +
      "election.",
    set: (plan, { cluster, count }) => {
      plan.replicas = { ...plan.replicas, [cluster]: count }
    }
  }),
  setup({
    name: "sharding",
    words: {},
    summary: "The primary's replicas share the members among them. Without it the leader watches all members itself.",
    set: (plan) => {
      plan.sharding = true
    }
  }),
  setup({
    name: "ephemeral",
    words: { cluster: clusterName },
    summary:
      "A cluster's agents are ephemeral containers of the targets' pods, which nobody can remove. Without it they " +
      "are Jobs.",
    set: (plan, { cluster }) => {
      plan.ephemeralAgents = [...plan.ephemeralAgents, cluster]
    }
  }),
  setup({
    name: "tokens",
    words: {
      cluster: clusterName,
      lifetime: after("for", time),
      more: options({ at: after("most", time), clock: oneWord("+<duration>|-<duration>", signedDuration("+5m")) })
    },
    summary:
      "The token in a member's Secret is a service account's and ends after so long; the member grants others, for " +
      "as long as they are asked for, or at most so long, by a clock that may be wrong. Without it no token ends.",
    set: (plan, { cluster, lifetime, more: { at = Infinity, clock = 0 } }) =>
      setTokens(plan, cluster, { lifetime, longest: at, skew: clock })
  }),
  setup({
    name: "authenticate",
    words: { cluster: clusterName, auth: after("by", choice(configuredAuths)), lifetime: after("for", time) },
    summary:
      "A configured member knows the primary by a client certificate in its Secret, which is replaced in time, or by " +
      "tokens that a cloud makes; each ends after so long.",
    set: (plan, { auth, cluster, lifetime }) => setMember(plan, cluster, { _tag: "Configured", auth }, lifetime)
  }),
  setup({
    name: "found",
    words: {
      cluster: clusterName,
      by: after(
        "by",
        cases({
          kubeconfigSecrets: withKubeconfig,
          kubeconfigFile: withKubeconfig,
          kubeconfigDirectory: withKubeconfig,
          clusterApi: withKubeconfig,
          clusterProfile: {}
        } satisfies Readonly<Record<(typeof clusterProviders)[number], object>>)
      ),
      lifetime: after("for", time)
    },
    summary:
      "A member stands not in the primary's list: a provider finds it. Its kubeconfig has a token, or a certificate, " +
      "that ends after so long and is replaced in time; a clusterProfile has none, as a plugin gives tokens.",
    set: (plan, { by, cluster, lifetime }) =>
      setMember(
        plan,
        cluster,
        by.is === "clusterProfile" ? { _tag: "Profile" } : { _tag: "Kubeconfig", provider: by.is, auth: by.auth },
        lifetime
      )
  }),
  setup({
    name: "outbound",
    words: { cluster: clusterName, more: options({ certificates: certificateTime }) },
    summary:
      "A configured member is one that no way leads to: its operator dials the primary, with certificates that last " +
      "so long (30m).",
    set: (plan, { cluster, more: { certificates = 1_800_000 } }) => {
      plan.outbound = { members: [...(plan.outbound?.members ?? []), cluster], lifetime: certificates }
    }
  }),
  setup({
    name: "workload",
    words: { cluster: clusterName, workload, pods: optional(after("pods", pods)) },
    summary: "A workload beside deployment/myapp, of which copies can be made; after the line of its cluster.",
    set: (plan, { cluster, pods: count = 1, workload: made }) => {
      plan.clusters = plan.clusters.map((known) =>
        known.name === cluster ? { ...known, workloads: [...(known.workloads ?? []), { ...made, pods: count }] } : known
      )
    }
  }),
  setup({
    name: "branches",
    words: {},
    summary: "deployment/myapp has a PostgreSQL and a MySQL database, and all operators make branches of them.",
    set: (plan) => {
      plan.branches = true
    }
  }),
  setup({
    name: "start",
    words: { members: choice(["all", "default"]) },
    summary: "Which members a session needs before it is ready: all, or the default one.",
    set: (plan, { members }) => {
      plan.sessionStart = members
    }
  }),
  setup({
    name: "ttl",
    words: { seconds },
    summary: "How long a session outlives its last heartbeat (sessionTtlSecs).",
    set: (plan, said) => {
      plan.sessionTtlSecs = said.seconds
    }
  }),
  setup({
    name: "timeout",
    words: { seconds },
    summary: "How long a session may take to become ready (remoteSessionTimeoutSecs).",
    set: (plan, said) => {
      plan.remoteSessionTimeoutSecs = said.seconds
    }
  }),
  setup({
    name: "ping",
    words: { interval: pingTime },
    summary: "Time between two pings of a client.",
    set: (plan, { interval }) => {
      plan.pingInterval = interval
    }
  })
]
