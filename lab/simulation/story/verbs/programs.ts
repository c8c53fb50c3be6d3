/** Verbs of the programs in sessions, and of those who send requests to workloads. */

import { Result } from "effect"
import type { ClientRequest } from "../../../client/client-input.ts"
import type { SimClient } from "../../world/sim-client.ts"
import { ofASession } from "../draws.ts"
import { after, arrow, flag, number, optional, options, type Part, repeated, restOfLine, oneWord } from "../parts.ts"
import { cluster, session } from "../things.ts"
import { act, type StoryRun, type Verb } from "../verb.ts"
import { nameWord, portWord, regex } from "../words.ts"

/** How long an expected answer may take, ms. */
const patience = 10_000

const port = oneWord("<port>", portWord)
const everything = { filter: new Set<string>(), select: new Set(["*"]) }

const address = oneWord("<ip>:<port>", (said) => {
  const [, ip, digits] = /^(\d{1,3}(?:\.\d{1,3}){3}):(\d+)$/.exec(said ?? "") ?? []
  return ip === undefined
    ? Result.fail(`${JSON.stringify(said ?? "")} is not an address: write 10.9.0.1:5432`)
    : Result.map(portWord(digits), (found) => ({ ip, port: found }))
})
const path = oneWord("<path>", (said) =>
  said?.startsWith("/") === true
    ? Result.succeed(said)
    : Result.fail(`${JSON.stringify(said ?? "")} is not an absolute path: write /etc/hosts`)
)
const host = oneWord("<host>", (said) =>
  said === undefined ? Result.fail("the host is missing: write db.local") : Result.succeed(said)
)
const header = oneWord("<name>=<value>", (said): Result.Result<readonly [string, string], string> => {
  const [, field, value] = /^([^=]+)=(.*)$/.exec(said ?? "") ?? []
  return field === undefined || value === undefined
    ? Result.fail(`${JSON.stringify(said ?? "")} is not a header: write x-user=ann`)
    : Result.succeed([field, value])
})

/** The options end at an arrow. */
const answerer: Part<string> = {
  usage: "→ <session>|workload|nobody",
  read: (left) => nameWord(left.splice(0, 2)[1], "who answers")
}

/** A program listens on a port, perhaps only for requests with a header. */
const listening = (
  verb: string,
  weight: number,
  {
    summary,
    toRequest
  }: { readonly summary: string; readonly toRequest: (port: number, filter?: string) => ClientRequest }
): Verb =>
  act({
    name: verb,
    words: { session, port, filter: optional(after("filter", restOfLine("<regex>", regex))) },
    summary,
    run: ({ filter, port, session }) => session.do(toRequest(port, filter)),
    random: {
      weight,
      line: (draw) =>
        ofASession(draw, (session) => `${verb} ${session} 80${draw.random.chance(0.3) ? " filter x-user: ann" : ""}`)
    }
  })

/** Asks for something as a session's program. If `wanted` is given, the program must hear it in time. */
const ask = (run: StoryRun, client: SimClient, question: () => void, wanted: string | undefined): void => {
  const before = client.answers.length
  question()
  if (wanted === undefined) return
  const news = (): ReadonlyArray<string> => client.answers.slice(before)
  const isThere = run.world.passUntil(() => news().some((answer) => answer.includes(wanted)), patience)
  run.pass(0)
  if (isThere) return
  const heard = news().join(", ") || "nothing"
  run.fail(`${client.name} should be told ${JSON.stringify(wanted)}, but it is told ${heard}.`)
}

/** A program asks for `asked`, such as a host. */
const asking = <A>(
  verb: string,
  asked: Part<A>,
  {
    question,
    random,
    summary,
    what = "what the answer holds"
  }: {
    readonly summary: string
    readonly what?: string
    readonly question: (client: SimClient, asked: A) => void
    /** The words of random lines. */
    readonly random: readonly [string, ...ReadonlyArray<string>]
  }
): Verb =>
  act({
    name: verb,
    words: { session, asked, wanted: arrow("<words>", what) },
    summary,
    run: (found, run) => ask(run, found.session, () => question(found.session, found.asked as A), found.wanted),
    random: {
      weight: 3,
      line: (draw) =>
        ofASession(draw, (session) =>
          `${verb} ${session} ${random.length > 1 ? draw.random.pick(random) : random[0]}`.trimEnd()
        )
    }
  })

/** The one that has answered a request: a session, or what stands in its place. */
const answererOf = (answer: { readonly by: string; readonly body: string } | undefined): string => {
  if (answer === undefined) return "not answered"
  return answer.by === "client" ? (/^from (.+): /.exec(answer.body)?.[1] ?? answer.body) : answer.by
}

export const programVerbs: ReadonlyArray<Verb> = [
  listening("steal", 8, {
    summary:
      "The session's program listens on a port whose traffic is stolen; filter: only requests with such a header, " +
      "as in `x-user: ann`.",
    toRequest: (port, filter) => ({
      _tag: "Steal",
      type:
        filter === undefined
          ? { _tag: "All", value: port }
          : { _tag: "FilteredHttpEx", port, filter: { _tag: "Header", value: filter } }
    })
  }),
  listening("mirror", 4, {
    summary:
      "The session's program listens on a port whose traffic is mirrored; filter: only requests with such a " +
      "header, as in `x-user: ann`.",
    toRequest: (port, filter) => ({
      _tag: "Mirror",
      port,
      ...(filter === undefined ? {} : { filter: { _tag: "Header", value: filter } })
    })
  }),
  act({
    name: "unsubscribe",
    words: { session, port },
    summary: "The session's program stops listening on a port.",
    run: ({ port, session }) => session.do({ _tag: "Unsubscribe", port }),
    random: { weight: 2, line: (draw) => ofASession(draw, (session) => `unsubscribe ${session} 80`) }
  }),
  act({
    name: "request",
    words: {
      cluster,
      more: options({ port: oneWord("<n>", portWord), with: repeated(header) }),
      wanted: optional(answerer)
    },
    summary: "A request enters the workload of a cluster; after an arrow: who must answer it within 10 s.",
    run: ({ cluster, more, wanted }, run) => {
      const { world } = run
      const entered = world.request(cluster.name, `/${world.requests.length}`, more.with ?? [], more.port ?? 80)
      if (wanted === undefined) return
      world.passUntil(() => entered.answer !== undefined, patience)
      run.pass(0)
      const by = answererOf(entered.answer)
      if (by !== wanted)
        run.fail(`request ${entered.id} at ${cluster.name} should be answered by ${wanted}, but: ${by}.`)
    },
    random: {
      weight: 14,
      line: ({ clusters, random }) => `request ${random.pick(clusters)}${random.chance(0.3) ? " with x-user=ann" : ""}`
    }
  }),
  asking("env", flag, {
    summary:
      "The session's program asks for its environment; after an arrow: what the answer must hold, such as `env of a`.",
    question: (client) => client.do({ _tag: "FetchEnv", selection: everything }),
    random: [""]
  }),
  asking("read", path, {
    summary: "The session's program reads a file; after an arrow: what the answer must hold, such as `file of a`.",
    question: (client, asked) => client.readFile(asked),
    random: ["/etc/hosts"]
  }),
  asking("resolve", host, {
    summary: "The session's program looks up a host; after an arrow: what the answer must hold.",
    question: (client, node) => client.do({ _tag: "Resolve", node }),
    random: ["db.local"]
  }),
  asking("connect", address, {
    summary:
      "The session's program opens an outgoing connection; after an arrow: what the peer must say, such as `hello " +
      "from a`.",
    what: "what the peer says",
    question: (client, asked) => client.connectTo(asked),
    random: ["10.9.0.1:5432", "10.9.0.2:1", "192.0.2.1:80"]
  }),
  act({
    name: "flood",
    words: { session, size: number("<KiB>", "a number of KiB") },
    summary: "The session's program writes so much on a new outgoing connection, whose peer says it all back.",
    run: ({ session, size }) => session.connectTo({ ip: "10.9.0.9", port: 9_000 }, size * 1024),
    random: {
      weight: 2,
      line: (draw) => ofASession(draw, (session) => `flood ${session} ${draw.random.pick([64, 512, 2048])}`)
    }
  })
]
