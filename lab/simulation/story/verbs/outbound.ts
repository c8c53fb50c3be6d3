/** Verbs of members that dial out: their tunnels, certificates and keys, and the deeds of people about them. */

import type { OutboundWorld } from "../../world/operator-host-options.ts"
import type { SimCluster, World } from "../../world/world.ts"
import { aMember } from "../draws.ts"
import { choice, time } from "../parts.ts"
import { cluster } from "../things.ts"
import { act, type Draw, type StoryRun, type Verb } from "../verb.ts"

/** A proxy cuts connections that are idle for so long, ms. */
const idleTime = 60_000
/** How long a link is cut beyond the end of a certificate, ms. */
const afterEnd = 5_000

const tunnelFaults = ["reset", "silent", "silent-up", "silent-down", "idle-cut"] as const
const directions = { silent: ["up", "down"], "silent-up": ["up"], "silent-down": ["down"] } as const
const faultWords = {
  silent: "carries nothing any more, and no side hears of it",
  "silent-up": "loses what the member sends",
  "silent-down": "loses what the primary sends"
} as const

/** Does something about a member that dials out. */
const outboundAct =
  (deed: (outbound: OutboundWorld, name: string, run: StoryRun, cluster: SimCluster) => string | void) =>
  (member: SimCluster, run: StoryRun): string | void => {
    const { outbound } = run.world
    return outbound?.members.includes(member.name) === true
      ? deed(outbound, member.name, run, member)
      : `${member.name} does not dial out`
  }

/** Nothing passes between a member and the primary for so long. */
const cutFor = (world: World, member: string, ms: number): void => {
  const { network, plan } = world
  const pairs = [
    [plan.primary, member],
    [member, plan.primary]
  ] as const
  for (const [from, to] of pairs) network.cut(from, to)
  world.faultIn(ms, () => {
    for (const [from, to] of pairs) network.heal(from, to)
  })
}

const ofMember =
  (verb: string) =>
  (draw: Draw): string | undefined =>
    aMember(draw, (member) => `${verb} ${member}`)

export const outboundVerbs: ReadonlyArray<Verb> = [
  act({
    name: "tunnel",
    words: { cluster, fault: choice(tunnelFaults) },
    summary:
      "The tunnel of a member that dials out breaks, or goes dead in silence: both ways, or one (up leads to the " +
      "primary). idle-cut: from now on a proxy cuts it when it is idle for 60 s, until `heal all`.",
    run: ({ cluster: member, fault }, story) =>
      outboundAct(({ tunnels }, name, run) => {
        if (fault === "idle-cut") {
          run.fault("idle cut", `a proxy cuts the tunnel of ${name} when it is idle for ${idleTime} ms`)
          tunnels.idleCuts.set(name, idleTime)
          return
        }
        const wires = tunnels.wiresOf(name)
        if (wires.length === 0) return `${name} has no tunnel`
        if (fault === "reset") {
          run.fault("tunnel reset", `the tunnel of ${name} is reset`)
          for (const wire of wires) wire.reset()
          return
        }
        run.fault("tunnel half-open", `the tunnel of ${name} ${faultWords[fault]}`)
        for (const wire of wires) wire.lose(...directions[fault])
      })(member, story),
    random: {
      weight: 14,
      woven: "outbound",
      line: (draw) => aMember(draw, (member) => `tunnel ${member} ${draw.random.pick(tunnelFaults)}`)
    }
  }),
  act({
    name: "sleep",
    words: { cluster, ms: time },
    summary:
      "The machine of a member's operator sleeps for so long, or until `heal all`: the operator stops, and the way " +
      "to the primary forgets its tunnel in silence.",
    run: ({ cluster: member, ms }, story) =>
      outboundAct(({ tunnels }, name, run, { host }) => {
        if (host.processes.every(({ state }) => state !== "running")) return `no operator of ${name} runs`
        run.fault("sleep", `the machine of the operator of ${name} sleeps for ${ms} ms`)
        host.pause()
        for (const wire of tunnels.wiresOf(name)) wire.lose("up", "down")
        run.world.faultIn(ms, () => host.resume())
      })(member, story),
    random: {
      weight: 5,
      woven: "outbound",
      line: (draw) => aMember(draw, (member) => `sleep ${member} ${draw.random.pick(["8s", "40s", "2m", "1h"])}`)
    }
  }),
  act({
    name: "expire",
    words: { cluster },
    summary: "Nothing passes between a member that dials out and the primary until its certificate has ended.",
    run: ({ cluster: member }, story) =>
      outboundAct(({ people }, name, run) => {
        const { certificate } = people.known(name)
        const left = (certificate?.until ?? 0) - run.world.now
        if (left <= 0) return `the certificate of ${name} has ended`
        run.fault("certificate expires", `nothing passes between ${run.world.plan.primary} and ${name} for ${left} ms`)
        cutFor(run.world, name, left + afterEnd)
      })(member, story),
    random: { weight: 1, woven: "outbound", line: ofMember("expire") }
  }),
  act({
    name: "thief",
    words: { cluster },
    summary:
      "Another operator shows the used token of a member, and dials with its stolen key until that is replaced. It " +
      "answers nothing.",
    run: ({ cluster: member }, story) =>
      outboundAct((outbound, name, run) => {
        const stolen = outbound.people.stolen(name)
        if (stolen === undefined) return `${name} has no key`
        run.fault("key stolen", `another operator dials with the key of ${name}`)
        run.world.startThief(name, stolen)
      })(member, story),
    random: { weight: 3, woven: "outbound", line: ofMember("thief") }
  }),
  act({
    name: "exchange",
    words: {},
    summary: "The authority for tunnels is to be exchanged for another one.",
    run: (_, run) => {
      const { outbound } = run.world
      if (outbound === undefined) return "no member dials out"
      run.fault("authority exchanged", "another authority for tunnels is asked for")
      outbound.people.exchange()
    },
    random: { weight: 5, woven: "outbound", line: () => "exchange" }
  }),
  act({
    name: "depart",
    words: { cluster },
    summary: "An administrator runs `braid leave` for a member that dials out.",
    run: ({ cluster: member }, story) =>
      outboundAct(({ people }, name, { fault, world: { files } }) => {
        if (!files.isListed(name)) return `${name} is not in the primary's list`
        if (files.isAlone(name)) return `${name} is the only cluster in the primary's list`
        fault("cluster removed", `${name} leaves the fleet`)
        files.remove(name)
        people.leave(name)
      })(member, story),
    random: { weight: 3, woven: "outbound", line: ofMember("depart") }
  }),
  act({
    name: "join",
    words: { cluster },
    summary:
      "An administrator runs `braid join --outbound` for a member, with `--renew` if it has joined before, and gives " +
      "it the token, with which its operator starts again.",
    run: ({ cluster: member }, story) =>
      outboundAct(({ people }, name, { fault, world: { files } }) => {
        fault("cluster joined", `${name} gets a token`)
        if (!files.isListed(name)) files.add(name)
        people.join(name)
      })(member, story),
    random: { weight: 4, woven: "outbound", line: ofMember("join") }
  }),
  act({
    name: "restore",
    words: {},
    summary:
      "The Secrets of tunnels beside the primary are as they were before the last `exchange`, or at the beginning, " +
      "as it is restored from a backup.",
    run: (_, run) => {
      const { outbound } = run.world
      if (outbound === undefined) return "no member dials out"
      run.fault("primary restored", "the Secrets of tunnels are restored from a backup")
      outbound.people.restore()
    },
    random: { weight: 3, woven: "outbound", line: () => "restore" }
  })
]
