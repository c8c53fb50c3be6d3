/** Verbs of administrators and clouds: policies, the fleet, and the credentials and identities of members. */

import { sha256Hex } from "../../../../src/app/kernel/sha256-hex.ts"
import { identityNamespace, pinsName } from "../../../../src/domain/fleet/cluster-identity.ts"
import { clusterName as fleetName, clusterSlug } from "../../../../src/domain/fleet/cluster-name.ts"
import { configMaps, leases, namespaces } from "../../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterPolicies } from "../../../../src/domain/resources/policies/mirrord-policies.ts"
import { primaryLeaseName } from "../../../../src/domain/sessions/primary-claim.ts"
import { canary } from "../../world/canary.ts"
import { makerModes } from "../../world/credential-makers.ts"
import { isMade } from "../../world/member-plan.ts"
import { operatorNamespace } from "../../world/operator-replica.ts"
import type { World } from "../../world/world.ts"
import { aMember } from "../draws.ts"
import { cases, choice, flag, name, optional, options, oneWord } from "../parts.ts"
import { cluster, clusterName, workload } from "../things.ts"
import { act, type StoryRun, type Verb } from "../verb.ts"
import { oneOf } from "../words.ts"

const rules = ["steal", "steal-without-filter", "mirror", "profile", "scale-down", "gone"] as const
const randomRules = ["steal", "steal-without-filter", "mirror", "profile", "gone", "steal", "gone"] as const

const blocks = (rule: (typeof rules)[number]): ReadonlyArray<string> => {
  if (rule === "profile") return []
  return [rule === "scale-down" ? "copy-target-scale-down" : rule]
}

const inList = { cluster }

/** Changes the list of clusters in the primary's configuration. */
const configure = (run: StoryRun, change: "add" | "remove" | "move" | "default", member: string): string | void => {
  const { authors, files, plan } = run.world
  if (member === plan.primary) return `${member} is the primary itself`
  if (authors.isFound(member)) return `${member} is found by a provider`
  const isListed = files.isListed(member)
  if (isListed === (change === "add")) return `${member} is ${isListed ? "" : "not "}in the primary's list`
  // With an empty list the chart makes new pods; here the same primary would stay, and never take up another list.
  if (change === "remove" && files.isAlone(member)) return `${member} is the only cluster in the primary's list`
  switch (change) {
    case "add":
      run.fault("cluster added", `${member} comes into the primary's list`)
      return files.add(member)
    case "remove":
      run.fault("cluster removed", `${member} goes out of the primary's list`)
      return files.remove(member)
    case "move":
      run.fault("cluster moved", `${member} gets another address in the primary's list`)
      return files.move(member)
    case "default":
      run.fault("another default cluster", `${member} is the default cluster for the next primary that starts`)
      return files.makeDefault(member)
  }
}

type Change = (world: World, member: string) => void

/** Changes of a member's tokens, each in words and as it is made. */
const tokenChanges = {
  new: ["another token is in the Secret of", ({ tokenSecrets }, member) => tokenSecrets.replace(member)],
  helm: ["Helm writes its own token into the Secret of", ({ tokenSecrets }, member) => tokenSecrets.restore(member)],
  gone: ["the Secret is deleted of", ({ tokenSecrets }, member) => tokenSecrets.delete(member)],
  opaque: [
    "a token that nobody knows is in the Secret of",
    ({ tokenSecrets }, member) => tokenSecrets.spoil(member, `${canary}-opaque`)
  ],
  broken: [
    "a token with a blank in it is in the Secret of",
    ({ tokenSecrets }, member) => tokenSecrets.spoil(member, `${canary} broken`)
  ],
  forgotten: ["the renewed token is deleted of", ({ tokenSecrets }, member) => tokenSecrets.forget(member)],
  dud: ["the next token does not work of", (world, member) => world.cluster(member).tokens.grantDuds(1)]
} as const satisfies Readonly<Record<string, readonly [words: string, change: Change]>>
const tokenNames = Object.keys(tokenChanges) as ReadonlyArray<keyof typeof tokenChanges>

/** An administrator runs the command that a refused cluster's sentence names. */
const forgetIdentity = ({ world }: StoryRun, member: string): void => {
  const data = { [clusterSlug(fleetName(member), sha256Hex)]: null }
  world.primary.server.objects.write(configMaps, pinsName, { data }, { namespace: operatorNamespace, now: world.now })
}

const uid = name("<uid>", "a UID")

export const fleetVerbs: ReadonlyArray<Verb> = [
  act({
    name: "policy",
    words: {
      cluster,
      policy: name("<name>", "a policy's name"),
      rule: choice(rules),
      more: options({ on: workload, copies: flag })
    },
    summary:
      "A MirrordClusterPolicy forbids to steal, to steal without a filter, to mirror, or that a copy takes its " +
      "workload's pods, or it wants a profile, which no session has; for all targets, or for one; copies: for " +
      "sessions on copies of them too. The same name again changes it; gone deletes it.",
    run: ({ cluster, more: { copies, on }, policy, rule }, run) => {
      const { objects } = cluster.server
      const isThere = objects.peek(mirrordClusterPolicies, policy) !== undefined
      if (rule === "gone") {
        if (!isThere) return `there is no policy ${policy} in ${cluster.name}`
        run.fault("policy deleted", `the policy ${policy} of ${cluster.name} is deleted`)
        return objects.erase(mirrordClusterPolicies, policy)
      }
      const spec = {
        block: blocks(rule),
        requireProfile: rule === "profile",
        appliesToCopyTargets: copies === true,
        targetPath: on === undefined ? null : `${on.kind}/${on.name}`
      }
      run.fault(`policy ${isThere ? "changed" : "made"}`, `the policy ${policy} of ${cluster.name} is about: ${rule}`)
      objects.write(mirrordClusterPolicies, policy, { spec }, { namespace: undefined, now: run.world.now })
    },
    random: {
      weight: 10,
      woven: "policies",
      line: ({ clusters: [home], primary, random }) => {
        const place = random.pick([home, home, primary])
        const [policy, rule] = [random.pick(["one", "two"]), random.pick(randomRules)]
        return `policy ${place} ${policy} ${rule}${rule !== "gone" && random.chance(0.5) ? " copies" : ""}`
      }
    }
  }),
  act({
    name: "configure",
    words: { change: cases({ add: inList, remove: inList, move: inList, default: inList, nonsense: {} }) },
    summary:
      "The list of clusters in the primary's configuration gets or loses a cluster, or another address of one; or " +
      "another cluster is the default, which a running primary refuses; or the list is nonsense, until it changes " +
      "again or `heal all`.",
    run: ({ change }, run) => {
      if (change.is !== "nonsense") return configure(run, change.is, change.cluster.name)
      run.fault("configuration spoilt", "the primary's list of clusters is nonsense")
      run.world.files.spoil()
    },
    random: {
      weight: 12,
      woven: "fleet",
      line: ({ clusters, random }) => {
        const change = random.pick(["add", "add", "remove", "remove", "move", "nonsense"])
        return change === "nonsense" ? "configure nonsense" : `configure ${change} ${random.pick(clusters)}`
      }
    }
  }),
  act({
    name: "token",
    words: { cluster, change: choice(tokenNames) },
    summary:
      "In the Secret of a member whose tokens end: another token, Helm's own of the beginning, one that no server " +
      "knows, or one that cannot be sent; or the Secret is gone, or that of the renewed token; dud: the next token " +
      "that the member grants does not work.",
    run: ({ change, cluster: { name: member, tokens } }, run) => {
      const { members, primary } = run.world.plan
      if (!tokens.isPlanned || member === primary || members[member] !== undefined)
        return `${member} has no tokens that end`
      const [words, make]: readonly [string, Change] = tokenChanges[change]
      run.fault(`token ${change}`, `${words} ${member}`)
      make(run.world, member)
    },
    random: {
      weight: 12,
      woven: "tokens",
      line: (draw) => aMember(draw, (member) => `token ${member} ${draw.random.pick(tokenNames)}`)
    }
  }),
  act({
    name: "rotate",
    words: { member: clusterName, wrong: optional(oneWord("wrong", (said) => oneOf(said, ["wrong"]))) },
    summary:
      "Another client certificate is in the Secret of a member, or another kubeconfig where it is found; wrong: one " +
      "that nobody can use, until the next or `heal all`.",
    run: ({ member, wrong }, run) => {
      const { authors } = run.world
      if (!authors.writes(member)) return `nobody writes credentials for ${member}`
      const [kind, what] = wrong === undefined ? (["rotated", "other"] as const) : (["spoilt", "unusable"] as const)
      run.fault(`credentials ${kind}`, `${what} credentials are there for ${member}`)
      return wrong === undefined ? authors.rotate(member) : authors.spoil(member)
    },
    random: {
      weight: 10,
      woven: "members",
      line: (draw) => aMember(draw, (member) => `rotate ${member}${draw.random.chance(0.3) ? " wrong" : ""}`)
    }
  }),
  act({
    name: "maker",
    words: { member: clusterName, mode: choice(makerModes) },
    summary:
      "The cloud or the plugin that makes the credentials for a member fails, does not answer in its time, is slow, " +
      "or says what nobody understands, until it works again or `heal all`.",
    run: ({ member, mode }, run) => {
      const plan = run.world.plan.members[member]
      if (plan === undefined || !isMade(plan)) return `nobody makes credentials for ${member}`
      run.fault(`maker ${mode}`, `the maker of the credentials for ${member}: ${mode}`)
      run.world.makers.set(member, mode)
    },
    random: {
      weight: 8,
      woven: "members",
      line: (draw) => aMember(draw, (member) => `maker ${member} ${draw.random.pick(makerModes)}`)
    }
  }),
  act({
    name: "provide",
    words: { what: name("<cluster>|nonsense|files", "a cluster's name, nonsense or files") },
    summary:
      "A member can be found again; or the files of kubeconfigs cannot be read, until they are there again or `heal " +
      "all`.",
    run: ({ what }, run) => {
      const { authors } = run.world
      if (what === "nonsense") {
        run.fault("kubeconfig files spoilt", "the files of kubeconfigs cannot be read")
        return authors.spoilFile()
      }
      if (what === "files") return authors.mendFiles()
      if (!authors.isFound(what)) return `no provider finds ${what}`
      if (authors.isProvided(what)) return `${what} is found already`
      run.fault("cluster found", `${what} is there to be found`)
      return authors.provide(what)
    },
    random: {
      weight: 8,
      woven: "members",
      line: (draw) =>
        draw.random.chance(0.3)
          ? draw.random.pick(["provide nonsense", "provide files"])
          : aMember(draw, (member) => `provide ${member}`)
    }
  }),
  act({
    name: "withdraw",
    words: { member: clusterName },
    summary: "The object or file that a member is found by is deleted, until `provide`.",
    run: ({ member }, run) => {
      const { authors } = run.world
      if (!authors.isProvided(member)) return `no provider finds ${member}`
      run.fault("cluster withdrawn", `what ${member} is found by is deleted`)
      return authors.withdraw(member)
    },
    random: { weight: 6, woven: "members", line: (draw) => aMember(draw, (member) => `withdraw ${member}`) }
  }),
  act({
    name: "identity",
    words: { cluster, uid: { ...uid, usage: "<uid>|forgotten" } },
    summary:
      "The namespace kube-system of a cluster has this UID from now on; without such a line a cluster tells no " +
      "identity. forgotten: an administrator forgets which one is pinned.",
    run: ({ cluster: { name: place, server }, uid }, run) => {
      if (uid === "forgotten") return forgetIdentity(run, place)
      const { objects } = server
      const known = objects.peek(namespaces, identityNamespace)
      if (known?.metadata.uid === uid) return `${place} has this identity already`
      if (known !== undefined) run.fault("another cluster", `another cluster answers in place of ${place}`)
      objects.write(namespaces, identityNamespace, {}, { namespace: undefined, now: run.world.now })
      objects.write(namespaces, identityNamespace, { metadata: { uid } })
    }
  }),
  act({
    name: "claim",
    words: { cluster, holder: { ...uid, usage: "<uid>|nobody" } },
    summary: "A cluster serves the primary of this UID from now on. nobody: an administrator deletes the Lease.",
    run: ({ cluster: { name: place, server }, holder }, run) => {
      const { objects } = server
      if (holder === "nobody") return objects.erase(leases, primaryLeaseName, operatorNamespace)
      run.fault("another primary", `${place} serves the primary ${holder}`)
      const spec = { holderIdentity: holder }
      objects.write(leases, primaryLeaseName, { spec }, { namespace: operatorNamespace, now: run.world.now })
    }
  })
]
