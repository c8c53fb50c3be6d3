/** Verbs of the network between places: cuts, lost connections, slow links. */

import type { Network, Place } from "../../world/network.ts"
import { aLink } from "../draws.ts"
import { casesOr, number, optional, time, times, where, oneWord } from "../parts.ts"
import { cluster, type Connections, connections, link } from "../things.ts"
import { act, type Draw, type StoryRun, type Verb } from "../verb.ts"
import { oneOf } from "../words.ts"

const oneWay = oneWord("one-way", (said) => oneOf(said, ["one-way"]))
const speed = where(
  number("<KiB/s>", "a number of KiB per second"),
  (kib) => kib > 0,
  "0 KiB/s is no link: write `cut`, or 1 and more"
)
/** Within which all links of a swizzle are cut and healed, ms. */
const defaultSwizzle = 20_000

const heal = (network: Network, from: Place, to: Place): void => {
  network.heal(from, to)
  network.heal(to, from)
}

/** The words after a verb that begins with two places. */
const onLink = (draw: Draw, line: (link: string) => string): string | undefined => {
  const link = aLink(draw)
  return link === undefined ? undefined : line(link)
}

/** A verb that acts on all connections between two places. */
const onConnections = (name: string, summary: string, run: (found: Connections, run: StoryRun) => void): Verb =>
  act({
    name,
    words: { link: connections },
    summary,
    run: (found, story) => run(found.link, story),
    random: { weight: 3, line: (draw) => onLink(draw, (link) => `${name} ${link}`) }
  })

export const networkVerbs: ReadonlyArray<Verb> = [
  act({
    name: "cut",
    words: { link, way: optional(oneWay) },
    summary: "Nothing passes between two places any more; one-way: not from the first to the second.",
    run: ({ link: { from, names, to }, way }, run) => {
      const [first, second] = names
      run.fault("cut", `nothing passes ${way === undefined ? `between ${first} and` : `from ${first} to`} ${second}`)
      run.world.network.cut(from, to)
      if (way === undefined) run.world.network.cut(to, from)
    },
    random: {
      weight: 6,
      line: (draw) => onLink(draw, (link) => `cut ${link}${draw.random.chance(0.3) ? " one-way" : ""}`)
    }
  }),
  act({
    name: "heal",
    words: { what: casesOr({ all: {} }, { link }) },
    summary: "A link passes everything again; all: every fault ends.",
    run: ({ what }, { world }) =>
      what.is === "all" ? world.heal() : heal(world.network, what.link.from, what.link.to),
    random: {
      weight: 6,
      line: (draw) => (draw.random.chance(0.4) ? "heal all" : onLink(draw, (link) => `heal ${link}`))
    }
  }),
  onConnections("reset", "All connections between two places break, and both ends are told.", (found, run) => {
    run.fault("reset", `connections between ${found.between} are reset`)
    for (const connection of found.connections) connection.reset()
  }),
  onConnections(
    "silence",
    "All connections between two places go dead, and nobody is told (half-open).",
    (found, run) => {
      run.fault("half-open", `connections between ${found.between} go dead in silence`)
      for (const connection of found.connections) connection.goSilent()
    }
  ),
  act({
    name: "slow",
    words: { what: casesOr({ agents: { cluster, delay: times } }, { link, speed }) },
    summary: "A link passes so many KiB per second; or a cluster's agents think so long before each answer.",
    run: ({ what }, run) => {
      if (what.is === "agents") {
        const { cluster, delay } = what
        run.fault("slow agents", `agents of ${cluster.name} think ${delay[0]} to ${delay[1]} ms before an answer`)
        cluster.kubelet.agentDelay = delay
        return
      }
      const { from, names, to } = what.link
      run.fault("slow link", `${what.speed} KiB/s pass between ${names.join(" and ")}`)
      for (const [here, there] of [
        [from, to],
        [to, from]
      ] as const)
        run.world.network.setBandwidth(here, there, (what.speed * 1024) / 1000)
    },
    random: {
      weight: 3,
      line: (draw) => {
        const { clusters, random } = draw
        return random.chance(0.5)
          ? `slow agents ${random.pick(clusters)} ${random.pick(["100ms 900ms", "1s 3s", "5s 20s"])}`
          : onLink(draw, (link) => `slow ${link} ${random.pick([2, 16, 64])}`)
      }
    }
  }),
  act({
    name: "latency",
    words: { link, latency: times },
    summary: "How long a packet takes between two places, such as `latency primary b 20ms 80ms`.",
    run: ({ latency: [min, max], link: { from, names, to } }, run) => {
      run.fault("latency", `packets between ${names.join(" and ")} take ${min} to ${max} ms`)
      run.world.network.setLatency(from, to, min, max)
      run.world.network.setLatency(to, from, min, max)
    },
    random: {
      weight: 2,
      line: (draw) =>
        onLink(draw, (link) => `latency ${link} ${draw.random.pick(["0ms 0ms", "20ms 80ms", "150ms 400ms", "2s 9s"])}`)
    }
  }),
  act({
    name: "swizzle",
    words: { time: optional(time) },
    summary:
      "Cuts every link of the primary in random order, then heals them in another one; all within the time (20s), " +
      "which the story goes on in.",
    run: ({ time: ms = defaultSwizzle }, run) => {
      const { world } = run
      const { clients, clusters, kernel, network, plan } = world
      const { primary } = plan
      const others = [
        ...[...clusters.keys()].filter((name) => name !== primary),
        ...[...clients.values()].map(({ place }) => place)
      ]
      const random = kernel.random.split(`swizzle at ${world.now}`)
      const inTurn = (from: number, strike: (place: string) => void): void => {
        const moments = others.map(() => from + random.int(0, Math.floor(ms / 2))).toSorted((a, b) => a - b)
        for (const [index, place] of random.shuffle(others).entries())
          world.faultIn(moments[index] ?? from, () => strike(place))
      }
      run.fault("swizzle", `all links of ${primary} are cut and healed in random order within ${ms} ms`)
      inTurn(0, (place) => {
        network.cut(primary, place)
        network.cut(place, primary)
      })
      inTurn(Math.ceil(ms / 2), (place) => heal(network, primary, place))
    },
    random: { weight: 2, line: ({ random }) => `swizzle ${random.pick(["2s", "20s", "90s"])}` }
  })
]
