import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { EnvironmentAnswers } from "../../../src/domain/branches/environment-answers.ts"
import { environmentPlan, withQueues } from "../../../src/domain/branches/environment-plan.ts"
import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { type ClientDecision, type DaemonDecision, pass } from "../../../src/domain/protocol/message-filter.ts"
import { peekClient } from "../../../src/domain/protocol/peek.ts"
import { branchUrl, sessionBranch, variable } from "./session-branch.ts"

const answers = (branch = sessionBranch({ url: variable("DATABASE_URL") })): EnvironmentAnswers =>
  new EnvironmentAnswers(Result.getOrThrow(environmentPlan([branch])))
const ask = (filter: ReadonlyArray<string>, select: ReadonlyArray<string>): Uint8Array =>
  clientMessage.encode({
    _tag: "GetEnvVarsRequest",
    value: { envVarsFilter: new Set(filter), envVarsSelect: new Set(select) }
  })
const say = (message: DaemonMessage): Uint8Array => daemonMessage.encode(message)
const told = (variables: Readonly<Record<string, string>>): Uint8Array =>
  say({ _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: new Map(Object.entries(variables)) } })
const heard = (bytes: Uint8Array): DaemonMessage => {
  const decoded = daemonMessage.decode(bytes)
  if (decoded._tag !== "Decoded") throw new Error(decoded._tag)
  return decoded.value
}

const hear = (environment: EnvironmentAnswers, bytes: Uint8Array): ClientDecision =>
  environment.asked(bytes, peekClient(bytes))
/** The answer as the client gets it. */
const heardOf = (decided: DaemonDecision): DaemonMessage => {
  if (decided._tag === "EndSession") return { _tag: "Close", value: decided.reason }
  if (decided._tag !== "PassChanged") throw new Error(decided._tag)
  return heard(decided.bytes)
}

describe("answers to requests for variables", () => {
  it("lead to the branch, the same for every request", () => {
    const environment = answers()
    const source = told({ DATABASE_URL: "postgres://u@h/shop", OTHER: "1" })
    const value = new Map([
      ["DATABASE_URL", `${branchUrl.replace("postgresql", "postgres")}/shop`],
      ["OTHER", "1"]
    ])
    for (const select of ["*", "DATABASE_URL"]) {
      expect(hear(environment, ask([], [select]))).toBe(pass)
      const decided = environment.answered(source)
      expect(heardOf(decided)).toEqual({ _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value } })
      expect(decided).toMatchObject({ warnings: [] })
    }
  })

  it("are a final Close instead of variables that could lead to the source", () => {
    const environment = answers()
    hear(environment, ask([], ["*"]))
    expect(environment.answered(told({ DATABASE_URL: "jdbc:postgresql://h/shop" }))).toEqual({
      _tag: "EndSession",
      reason: expect.stringContaining("DATABASE_URL cannot lead to")
    })
  })

  it("belong to their requests by order, failed ones included", () => {
    const secret = { secret: { name: "s", key: "k", env_var_name: "DATABASE_URL" } }
    const environment = answers(sessionBranch({ url: secret }))
    hear(environment, ask(["*"], []))
    hear(environment, clientMessage.encode({ _tag: "Ping" }))
    hear(environment, ask([], ["*"]))
    const failure = say({ _tag: "GetEnvVarsResponse", value: { _tag: "Err", error: { _tag: "NotFound", value: 1n } } })
    expect(environment.answered(failure)).toBe(pass)
    hear(environment, ask(["DATABASE_*"], ["*"]))
    const values = [1, 2].map(() => heardOf(environment.answered(told({}))))
    expect(values).toMatchObject([
      { value: { value: new Map([["DATABASE_URL", branchUrl]]) } },
      { value: { value: new Map() } }
    ])
  })

  it("are rewritten also if nobody is known to have asked", () => {
    const decided = answers().answered(told({ DATABASE_URL: "postgres://u@h/shop" }))
    const value = new Map([["DATABASE_URL", `${branchUrl.replace("postgresql", "postgres")}/shop`]])
    expect(heardOf(decided)).toEqual({ _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value } })
  })

  it("tell once of a branch whose connection names a Secret and no variable", () => {
    const environment = answers(sessionBranch({ url: { secret: { name: "db", key: "url" } } }))
    const warnings = [1, 2].map(() => {
      hear(environment, ask([], ["*"]))
      return environment.answered(told({ OTHER: "1" }))
    })
    const sentence = expect.stringContaining("no environment variable of this target leads to branch")
    expect(warnings).toMatchObject([{ warnings: [sentence] }, { warnings: [] }])
  })

  it("are a final Close where none of the variables that a connection names is there", () => {
    const sentences: Array<string> = []
    const params = { host: variable("DB_HOST"), user: variable("DB_USER") }
    for (const source of [{ url: [variable("DATABSE_URL"), variable("DB")] }, { params }]) {
      const plan = Result.getOrThrow(environmentPlan([sessionBranch(source)]))
      const environment = new EnvironmentAnswers(plan, (sentence) => sentences.push(sentence))
      hear(environment, ask([], ["*"]))
      const answer = heardOf(environment.answered(told({ DATABASE_URL: "postgres://h/s", DB_USER: "u" })))
      expect(answer).toEqual({ _tag: "Close", value: sentences.at(-1) })
    }
    const beginning = "No environment variable of this target leads to branch branch-1, and the program would use"
    expect(sentences).toMatchObject([expect.stringContaining(beginning), expect.stringContaining(beginning)])
    expect(sentences[0]).toContain("names DATABSE_URL, DB, which this target does not have")
    expect(sentences[1]).toContain("names DB_HOST, which")
    expect(sentences[0]).toContain("mirrord db-branches stop branch-1")
  })

  describe("to the internal proxy, which asks for the variables of the configuration after its first ping", () => {
    const ping = clientMessage.encode({ _tag: "Ping" })
    const source = { DATABASE_URL: "postgres://u@h/shop", MYSQL_URL: "mysql://h/shop" }
    const answered = (messages: ReadonlyArray<Uint8Array>): string => {
      const environment = answers()
      for (const message of messages) hear(environment, message)
      const answer = heardOf(environment.answered(told(source)))
      return answer._tag === "Close" ? answer.value : answer._tag
    }

    it("are a final Close where no branch replaces one of them", () => {
      const sentence = answered([ping, ask([], ["MYSQL_URL"])])
      expect(sentence).toContain("The configuration names MYSQL_URL for a branch, and no branch of this session")
      expect(sentence).toContain("branch-1 was made with a connection of DATABASE_URL, maybe for another engine")
      expect(answered([ping, ask(["OTHER"], ["MYSQL_URL", "DATABASE_URL"])])).toBe(sentence)
    })

    it("are a final Close also where the target has it as little", () =>
      expect(answered([ping, ask([], ["DATABASE_URL", "DB"])])).toContain("The configuration names DB for a branch"))

    it("are variables as ever where branches replace all of them", () =>
      expect(answered([ping, ask([], ["DATABASE_URL"])])).toBe("GetEnvVarsResponse"))

    it("are not mistaken for those that any other request wants", () => {
      const wanted = ask([], ["MYSQL_URL"])
      const version = clientMessage.encode({ _tag: "SwitchProtocolVersion", value: "1.20.0" })
      const listing: ReadonlyArray<ReadonlyArray<Uint8Array>> = [
        [version, wanted],
        [ping, ask([], ["*_URL"])],
        [ping, ask(["A*"], [])],
        [ping, clientMessage.encode({ _tag: "Close" }), wanted]
      ]
      expect(listing.map(answered)).toEqual(listing.map(() => "GetEnvVarsResponse"))
    })
  })

  describe("name the temporary queues of the session", () => {
    const names = new Map([
      ["ORDERS", "tmp-orders"],
      ["BILLS", "tmp-bills"]
    ])
    const source = told({ ORDERS: "orders", OTHER: "1" })
    const answer = (filter: ReadonlyArray<string>, select: ReadonlyArray<string>) => {
      const environment = new EnvironmentAnswers(Result.getOrThrow(withQueues(undefined, names)) ?? expect.fail())
      hear(environment, clientMessage.encode({ _tag: "Ping" }))
      hear(environment, ask(filter, select))
      const found = heardOf(environment.answered(source))
      return found._tag === "GetEnvVarsResponse" && found.value._tag === "Ok"
        ? Object.fromEntries(found.value.value)
        : found
    }

    it.each<[ReadonlyArray<string>, ReadonlyArray<string>, object]>([
      [[], ["*"], { ORDERS: "tmp-orders", OTHER: "1", BILLS: "tmp-bills" }],
      [["B*"], [], { ORDERS: "tmp-orders", OTHER: "1" }],
      // Without branches no variable is one of a branch's configuration.
      [[], ["OTHER"], { ORDERS: "tmp-orders", OTHER: "1" }]
    ])("in answers that leave out %j and want %j", (filter, select, expected) =>
      expect(answer(filter, select)).toEqual(expected)
    )

    it("beside the branches of the session, in other variables", () => {
      expect(withQueues(undefined, new Map())).toMatchObject({ success: undefined })
      const url = (name: string) => environmentPlan([sessionBranch({ url: variable(name) })])
      const both = withQueues(Result.getOrThrow(url("DATABASE_URL")), names)
      const environment = new EnvironmentAnswers(Result.getOrThrow(both) ?? expect.fail())
      const value = new Map([
        ["ORDERS", "tmp-orders"],
        ["BILLS", "tmp-bills"],
        ["DATABASE_URL", `${branchUrl}/shop`]
      ])
      const answer = heardOf(environment.answered(told({ DATABASE_URL: "postgresql://h/shop" })))
      expect(answer).toEqual({ _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value } })
      expect(withQueues(Result.getOrThrow(url("ORDERS")), names)).toMatchObject({
        failure: expect.stringContaining(
          "The variable ORDERS names a queue that is split, and is to hold the url of branch branch-1: "
        )
      })
    })
  })

  it("are asked for without end by no client that reads none of them", () => {
    const environment = answers()
    const many = Array.from({ length: 20_000 }, () => hear(environment, ask([], ["*"])))
    expect(many.find((decided) => decided !== pass)).toMatchObject({
      _tag: "TooMuch",
      reason: expect.stringContaining("again and again")
    })
  })
})
