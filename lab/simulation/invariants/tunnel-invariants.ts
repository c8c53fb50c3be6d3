/**
 * T1 to T10, of members that dial out (failures.md §3.29 to §3.38): certificates and keys of tunnels, which tunnel is
 * used, commands, beats, ends, and what is told.
 */

import { outpostSecret } from "../../../src/app/outbound/outpost-identity.ts"
import { asString, at as within, parseObject } from "../../../src/domain/json.ts"
import { readAdmittedKeys } from "../../../src/domain/outbound/admitted-keys.ts"
import { readStoredToken } from "../../../src/domain/outbound/bootstrap-token.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { OperatorReplica } from "../world/operator-replica.ts"
import type { TunnelEnd, Wire } from "../world/tunnel.ts"
import type { TimedEvent } from "../world/world-event.ts"
import type { World } from "../world/world.ts"
import { isHopeless } from "./hopeless.ts"
import type { Checker, EventOf, Invariant } from "./invariant.ts"

const second = 1_000

type Data = Readonly<Record<string, string>> | undefined

/** How late a primary may know which keys are admitted, ms. */
const keysKnownWithin = 10 * second
/** How late a process may know that a tunnel has begun or ended, ms. */
const countedWithin = second
const answeredWithin = 15 * second
/** Silence of 90 s, and the time between two looks, ms. */
const overWithin = 105 * second
const backWithin = 45 * second
const toldWithin = 5 * second
/** How long after the end of all faults they count no more, ms. */
const calmAfter = 30 * second

/** A checker that looks at each event from the story's first line on, when there is a world. */
const looking = (look: (event: TimedEvent) => string | undefined): Checker => {
  let isMade = false
  return {
    each: (event) => {
      isMade ||= event._tag === "Step"
      return isMade ? look(event) : undefined
    }
  }
}

/** Whether a cluster's operator runs, as a whole. */
const runs = (world: World, cluster: string): boolean => {
  const { processes } = world.cluster(cluster).host
  return processes.length > 0 && processes.every(({ state }) => state === "running")
}

/** Whether packets pass both ways between the primary and a member, as quickly as usual. */
const isPathWell = ({ network, plan: { primary } }: World, member: string): boolean =>
  network.isPrompt(primary, member) && network.isPrompt(member, primary)

/** The tunnels of a member itself. */
const own = (world: World, member: string): ReadonlyArray<Wire> => world.outbound?.tunnels.wiresOf(member) ?? []

const validCertificates: Invariant = {
  id: "T1",
  ofOutbound: true,
  sentence: "No lane is opened on a tunnel whose certificate has ended or whose key is shut out.",
  begin: (world) => {
    const shutOutAt = new Map<string, number>()
    let troubleAt = -Infinity
    const trouble = ({ at }: TimedEvent): void => void (troubleAt = at)
    return {
      on: {
        Fault: trouble,
        Operator: trouble,
        Committed: ({ at, commit: { after, before, ref } }) => {
          if (ref.plural !== secrets.plural) return
          const [was = [], is = []] = [before, after].map((secret) => readAdmittedKeys(within(secret, "data") as Data))
          for (const key of was) if (!is.includes(key)) shutOutAt.set(key, at)
          for (const key of is) shutOutAt.delete(key)
        },
        LaneOpened: ({ at, certificate, cluster, process, tunnel }) => {
          const { network, primary } = world()
          if (!primary.server.isWell || !network.isWell) troubleAt = at
          const lane = `A lane to ${cluster} is opened on tunnel ${tunnel}`
          if (certificate.until <= at + primary.host.skewOf(process)) return `${lane}, whose certificate has ended.`
          const since = shutOutAt.get(certificate.keyId)
          return since !== undefined && at - Math.max(since, troubleAt) > keysKnownWithin
            ? `${lane}, whose key has been shut out for ${(at - since) / second} s.`
            : undefined
        }
      }
    }
  }
}

/** The first process that knows other tunnels than it has. */
const miscounted = (world: World): string | undefined => {
  const tunnels = world.outbound?.tunnels
  if (tunnels === undefined) return undefined
  const differs = ({ holdings, process }: OperatorReplica, kind: string, end: "cell" | "outpost", isExact: boolean) => {
    if (process?.state !== "running") return undefined
    const open = tunnels.wires.filter((wire) => wire[end].process === process && wire.isStanding && !wire[end].isOver)
    const held = holdings.get(kind) ?? 0
    return held < open.length || (isExact && held > open.length)
      ? `${process.name} knows ${held} ${kind}, and ${open.length} are open.`
      : undefined
  }
  for (const replica of world.primary.host.replicas) {
    const found = differs(replica, "tunnels of members", "cell", true)
    if (found !== undefined) return found
  }
  for (const member of world.outbound?.members ?? [])
    for (const replica of world.cluster(member).host.replicas) {
      // A dial is one of them before it has a connection.
      const found = differs(replica, "tunnels dialled", "outpost", false)
      if (found !== undefined) return found
    }
  return undefined
}

const oneTunnel: Invariant = {
  id: "T2",
  ofOutbound: true,
  sentence: "The newest tunnel of a member is used and no other, and each that is open is known on both sides.",
  begin: (world) => {
    /** By process and member: the tunnel of the last lane. */
    const used = new Map<string, number>()
    let changedAt: number | undefined
    return looking((event) => {
      if (event._tag === "LaneOpened") {
        const { cluster, process, tunnel } = event
        const key = `${process} ${cluster}`
        const last = used.get(key) ?? 0
        if (tunnel < last) return `A lane to ${cluster} is opened on tunnel ${tunnel} after one on tunnel ${last}.`
        used.set(key, tunnel)
      }
      const isChange = event._tag === "TunnelStands" || event._tag === "TunnelEnded" || event._tag === "Operator"
      if (isChange) changedAt = event.at
      if (changedAt === undefined || event.at <= changedAt + countedWithin) return undefined
      changedAt = undefined
      return miscounted(world())
    })
  }
}

/** The place of a command among all, in a line of a member. */
interface Place {
  readonly epoch: string
  readonly number: number
  readonly hash: string
}

const placeIn = (line: string): Place | undefined => {
  const message = parseObject(line)
  const { type } = message
  const held = type === "hello" ? within(message, "holds") : message
  const [epoch, hash] = [asString(within(held, "epoch")), asString(within(held, "hash"))]
  const number = within(held, "number")
  return epoch === undefined || hash === undefined || typeof number !== "number" ? undefined : { epoch, hash, number }
}

/** The id of the token that a Secret has. */
const storedIn = (secret: KubeObject | undefined): string | undefined =>
  readStoredToken(within(secret, "data") as Data)?.id

const noOlderCommand: Invariant = {
  id: "T3",
  ofOutbound: true,
  sentence: "No token is traded twice, and no command is carried out after a later one, over restarts too.",
  begin: () => {
    const last = new Map<string, Place>()
    const ofMembers = new Set<number>()
    const traded = new Set<string>()
    let restoredAt = -Infinity
    const isAfter = (before: Place, { epoch, hash, number }: Place): boolean =>
      before.epoch === epoch && (number > before.number || (number === before.number && hash === before.hash))
    return {
      on: {
        Fault: ({ at, kind }) => {
          if (kind === "primary restored") restoredAt = at
        },
        TokenTraded: ({ cluster, token }) => {
          if (traded.has(token)) return `${cluster} gets another certificate for its token ${token}.`
          traded.add(token)
          return undefined
        },
        TunnelStands: ({ cluster, from, tunnel }) => {
          if (from === cluster) ofMembers.add(tunnel)
        },
        Committed: ({ at, cluster, commit: { after, before } }) => {
          // A backup brings back the tokens that it has.
          const token = at === restoredAt ? storedIn(after) : undefined
          if (token !== undefined && storedIn(before) !== token) traded.delete(token)
          if (after?.metadata.name !== outpostSecret) return
          // Only a token is proof that people want to begin again.
          if (within(before, "data", "token") !== within(after, "data", "token")) last.delete(cluster)
        },
        ControlLine: ({ cluster, is, line, side, tunnel }) => {
          if (side !== "outpost" || is !== "sent" || !ofMembers.has(tunnel)) return undefined
          const place = placeIn(line)
          const before = last.get(cluster)
          if (place === undefined) return undefined
          last.set(cluster, place)
          return before === undefined || isAfter(before, place)
            ? undefined
            : `${cluster} holds command ${place.number} of its primary after command ${before.number}.`
        }
      }
    }
  }
}

const beatsAreAnswered: Invariant = {
  id: "T4",
  ofOutbound: true,
  sentence: "A beat is answered within 15 s while the path is well, whatever else goes on.",
  begin: (world) => {
    /** By tunnel: the oldest beat that has no answer. */
    const waiting = new Map<number, { readonly number: number; readonly at: number }>()
    /** When something was wrong last, by cluster; everywhere after a fault. */
    const badAt = new Map<string, number>()
    let anyBadAt = -Infinity
    const trouble = ({ at }: TimedEvent): void => void (anyBadAt = at)
    const isWell = (cluster: string, wire: Wire): boolean =>
      wire.isOpenAtBothEnds &&
      wire.carries &&
      isPathWell(world(), cluster) &&
      [world().plan.primary, cluster].every((name) => runs(world(), name))
    /** The time since which a beat should have had its answer. */
    const waitedSince = (cluster: string, from: number): number =>
      Math.max(from, anyBadAt, badAt.get(cluster) ?? -Infinity)
    return {
      on: {
        Fault: trouble,
        Operator: trouble,
        TunnelEnded: ({ tunnel }) => void waiting.delete(tunnel),
        ControlLine: ({ at, cluster, is, line, side, tunnel }) => {
          const wire = side === "outpost" ? own(world(), cluster).find((one) => one.number === tunnel) : undefined
          if (wire === undefined) return undefined
          if (!isWell(cluster, wire)) badAt.set(cluster, at)
          const { number, type } = parseObject(line)
          const oldest = waiting.get(tunnel)
          if (is === "come" && type === "answer" && Number(number) >= (oldest?.number ?? 0)) waiting.delete(tunnel)
          if (is !== "sent" || type !== "beat") return undefined
          if (oldest === undefined) return void waiting.set(tunnel, { number: Number(number), at })
          const waited = at - waitedSince(cluster, oldest.at)
          return waited > answeredWithin
            ? `Beat ${oldest.number} of ${cluster} on tunnel ${tunnel} has had no answer for ${waited / second} s.`
            : undefined
        }
      }
    }
  }
}

/**
 * Whether a side runs and hears nothing of the other one. A side that hears the other one keeps the tunnel; the other
 * one, which hears nothing, ends it for both.
 */
const isDeaf = (wire: Wire, end: TunnelEnd): boolean =>
  !end.isOver && end.process.state === "running" && (!wire.carriesTo(end) || wire.otherOf(end).isOver)

const deadTunnelsEnd: Invariant = {
  id: "T5",
  ofOutbound: true,
  sentence: "A tunnel that carries nothing ends within 105 s on each side, and with it every request on it.",
  begin: (world) => {
    /** By tunnel and side: since when it is silent, and the bytes that had come by then. */
    const silences = new Map<string, { readonly from: number; readonly received: number }>()
    let lookAt = 0
    return looking((event) => {
      const { at } = event
      if (event._tag === "Operator") lookAt = at
      if (at < lookAt) return undefined
      lookAt = at + second
      const present = new Set<string>()
      const wires = (world().outbound?.members ?? []).flatMap((member) => own(world(), member))
      for (const wire of wires) {
        for (const side of ["cell", "outpost"] as const) {
          const end = wire[side]
          if (!isDeaf(wire, end)) continue
          const key = `${wire.number} ${side}`
          present.add(key)
          const received = end.received()
          const known = silences.get(key)
          // A way may be well for a moment between two looks.
          const from = known?.received === received ? known.from : at
          silences.set(key, { from, received })
          const silent = `${wire.what} (${wire.number}) has carried nothing for ${(at - from) / second} s`
          if (at - from > overWithin) return `The ${silent}, and its ${side} keeps it.`
        }
      }
      for (const key of silences.keys()) if (!present.has(key)) silences.delete(key)
      return undefined
    })
  }
}

const rightMember: Invariant = {
  id: "T6",
  ofOutbound: true,
  sentence: "A request goes to the member that it is for, by the certificate and by nothing else.",
  begin: () => ({
    on: {
      LaneOpened: ({ certificate: { name }, cluster, tunnel }) =>
        name === cluster ? undefined : `A lane for ${cluster} is opened on tunnel ${tunnel} of ${name}.`
    }
  })
}

/** Whether a member has all that it needs for a tunnel: the path, both operators, a certificate that is admitted. */
const couldBeUsed = (world: World, member: string): boolean => {
  const { outbound, plan, primary } = world
  const { host, server } = world.cluster(member)
  return (
    outbound !== undefined &&
    world.isInFleet(member) &&
    isPathWell(world, member) &&
    [plan.primary, member].every((name) => runs(world, name)) &&
    host.serves &&
    primary.host.serves &&
    server.isWell &&
    primary.server.isWell &&
    !host.isRollingOut &&
    !primary.host.isRollingOut &&
    world.faultPlans.every(({ isOver }) => isOver?.() === true) &&
    outbound.people.known(member).problem === undefined &&
    !outbound.people.isRobbed(member)
  )
}

const tunnelsComeBack: Invariant = {
  id: "T7",
  ofOutbound: true,
  sentence: "A member has a tunnel that is used within 45 s once its path is well.",
  begin: (world) => {
    const since = new Map<string, number>()
    let lookAt = 0
    return looking((event) => {
      const { at } = event
      if (event._tag === "Operator") since.clear()
      if (event._tag === "Fault" && event.kind !== "sleep") since.clear()
      if (at < lookAt) return undefined
      lookAt = at + second
      for (const member of world().outbound?.members ?? []) {
        const current = world().outbound?.tunnels.current(member)
        if (current?.carries === true || !couldBeUsed(world(), member)) {
          since.delete(member)
          continue
        }
        const from = since.get(member) ?? at
        since.set(member, from)
        if (at - from > backWithin)
          return `${member} has had no tunnel for ${(at - from) / second} s, although all is well.`
      }
      return undefined
    })
  }
}

/** Requests that may be on their way at any moment. */
const onTheWay = 3

/** Lanes that are left on a tunnel, or have no other end. */
const lanesLeft = ({ cell, number, outpost }: Wire, watches: number): ReadonlyArray<string> => {
  const [near, far] = [cell.openLanes.size, outpost.openLanes.size]
  return [
    ...(Math.abs(near - far) > onTheWay ? [`Tunnel ${number} has ${near} lanes, and ${far} at its outpost.`] : []),
    ...(near > watches + onTheWay ? [`Tunnel ${number} has ${near} lanes for ${watches} watches.`] : [])
  ]
}

const nothingIsLeft: Invariant = {
  id: "T8",
  ofOutbound: true,
  sentence: "Of a tunnel that is over nothing is left, and each member has one tunnel at rest.",
  begin: (world) => ({
    atRest: (moment) =>
      (world().outbound?.members ?? []).flatMap((member) => {
        const { host, server } = world().cluster(member)
        const wires = own(world(), member)
        // One that is replaced may end later.
        const used = wires.filter(({ cell }) => !cell.isDraining)
        const isJoined = world().isInFleet(member) && !host.isGone && !world().primary.host.isGone
        const held = host.replicas.reduce((sum, { holdings }) => sum + (holdings.get("tunnels dialled") ?? 0), 0)
        return [
          ...(used.length === (isJoined ? 1 : 0) ? [] : [`${member} has ${used.length} tunnels.`]),
          // A member that is refused dials now and then.
          ...(isJoined && held !== wires.length ? [`The operator of ${member} holds ${held} tunnels.`] : []),
          ...(moment === "left" ? used.flatMap((wire) => lanesLeft(wire, server.objects.openWatches)) : [])
        ]
      })
  })
}

/** Faults that are about tunnels and the primary, and about no session of the member alone. */
const faultsOfTunnels: ReadonlySet<string> = new Set([
  "tunnel reset",
  "tunnel half-open",
  "idle cut",
  "certificate expires",
  "key stolen",
  "authority exchanged",
  "cluster removed",
  "cluster added",
  "primary restored"
])

/** Whether a fault is about the path between a primary and a member that dials out. */
const isOfTunnel = ({ outbound, plan }: World, { kind, text }: Pick<EventOf<"Fault">, "kind" | "text">): boolean => {
  const places = ["cut", "reset", "half-open"].includes(kind) ? text.split(" ") : []
  const isBetween = places.includes(plan.primary) && outbound?.members.some((name) => places.includes(name)) === true
  return isBetween || faultsOfTunnels.has(kind)
}

const membersGoOn: Invariant = {
  id: "T9",
  ofOutbound: true,
  sentence: "A session of a member alone goes on, whatever becomes of the member's tunnel.",
  begin: (world) => {
    /** When something else was wrong last; whether that was healed, and from when on it is of no more effect. */
    let [faultAt, isHealed, calmFrom] = [-Infinity, true, -Infinity]
    const wrong = (at: number): void => {
      faultAt = at
      isHealed = false
    }
    const askedAt = new Map<string, number>()
    const codes = new Map<string, number | undefined>()
    const isTouched = (client: string): boolean => {
      const since = askedAt.get(client) ?? -Infinity
      return since <= faultAt || !isHealed || since < calmFrom
    }
    /** Whether a client's own cluster dials out and can serve it, and its session is of that cluster alone. */
    const isOfMember = (name: string): boolean => {
      const client = world().clients.get(name)
      if (client === undefined || !client.isOfOneCluster || isHopeless(world(), client)) return false
      return world().outbound?.members.includes(client.home) === true
    }
    return {
      on: {
        Step: ({ at, text }) => {
          if (text !== "heal all" || isHealed) return
          isHealed = true
          calmFrom = at + calmAfter
        },
        Fault: (event) => {
          if (!isOfTunnel(world(), event)) wrong(event.at)
        },
        Operator: ({ at, change, cluster }) => {
          if (change !== "started" && cluster !== world().plan.primary) wrong(at)
        },
        ClientAsks: ({ at, client }) => {
          if (!askedAt.has(client)) askedAt.set(client, at)
        },
        ClientRefused: ({ client, code }) => void codes.set(client, code),
        ClientEnded: ({ client, message, rule }) => {
          const code = codes.get(client)
          const isAnswer = code !== undefined && code < 500
          return rule === undefined || isAnswer || isTouched(client) || !isOfMember(client)
            ? undefined
            : `${client} ended, though nothing but a tunnel was wrong: ${message}.`
        }
      }
    }
  }
}

/** The beginning of a longer sentence, as a line of a log has it. */
const begun = (why: string): string => JSON.stringify(why).slice(1, 61)

/** A line of a log that is due. */
interface Due {
  readonly what: string
  readonly at: number
  /** The cluster whose operator is to tell it. */
  readonly by: string
  readonly text: string
}

const refusalsAreTold: Invariant = {
  id: "T10",
  ofOutbound: true,
  sentence: "Each refusal of a tunnel or a command is told with its cause on both sides.",
  begin: (world) => {
    let due: ReadonlyArray<Due> = []
    /** The lines of logs, by cluster. */
    const told: Array<{ readonly by: string; readonly text: string }> = []
    const clusterOf = (process: string): string => /^operator-(.+?)(-r\d+)?-\d+$/u.exec(process)?.[1] ?? ""
    const forget = (): void => void (due = [])
    const isTold = ({ by, text }: Due): boolean => told.some((line) => line.by === by && line.text.includes(text))
    return {
      each: ({ at }) => {
        const late = due.find((one) => at - one.at > toldWithin)
        if (late === undefined) return undefined
        due = due.filter((one) => one !== late)
        return isTold(late) ? undefined : `The operator of ${late.by} does not tell ${late.what}: ${late.text}.`
      },
      on: {
        Operator: forget,
        Fault: forget,
        Log: ({ line: { details, message }, process }) =>
          void told.push({ by: clusterOf(process), text: `${message} ${JSON.stringify(details)}` }),
        TunnelRefused: ({ at, by, cluster, from, tunnel, why }) => {
          const refused = { what: `the refusal of tunnel ${tunnel} of ${cluster}`, at, text: begun(why) }
          if (by === "cell") due = [...due, { ...refused, by: world().plan.primary }]
          // While another tunnel is well, the member needs none. On a slow path it may give the dial up before.
          const needsOne = !own(world(), cluster).some(({ isStanding }) => isStanding)
          if (from === cluster && needsOne && isPathWell(world(), cluster)) due = [...due, { ...refused, by: cluster }]
        },
        ControlLine: ({ at, cluster, is, line, tunnel }) => {
          const { id, type, why } = parseObject(line)
          if (is !== "come" || !own(world(), cluster).some(({ number }) => number === tunnel)) return
          const { primary } = world().plan
          const tunnelRefused = { what: `the refusal of tunnel ${tunnel} of ${cluster}`, at, text: begun(String(why)) }
          const commandRefused = { what: `the refusal of a command by ${cluster}`, at }
          if (type === "refused" && id === undefined)
            due = [...due, { ...tunnelRefused, by: primary }, { ...tunnelRefused, by: cluster }]
          if (type === "behind")
            due = [
              ...due,
              { ...commandRefused, by: primary, text: "command is refused by a member" },
              { ...commandRefused, by: cluster, text: "command of the primary is refused" }
            ]
        }
      }
    }
  }
}

export const tunnelInvariants: ReadonlyArray<Invariant> = [
  validCertificates,
  oneTunnel,
  noOlderCommand,
  beatsAreAnswered,
  deadTunnelsEnd,
  rightMember,
  tunnelsComeBack,
  membersGoOn,
  refusalsAreTold,
  nothingIsLeft
]
