/** All verbs: words that are refused, and acts without their object. */

import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { RandomStream } from "../../../../lab/simulation/kernel/random-stream.ts"
import { runStory } from "../../../../lab/simulation/story/run-story.ts"
import type { StoryResult } from "../../../../lab/simulation/story/story.ts"
import type { Draw } from "../../../../lab/simulation/story/verb.ts"
import { verbs } from "../../../../lab/simulation/story/verbs.ts"

const read = (line: string): Result.Result<unknown, string> => {
  const [name, ...words] = line.split(" ")
  const verb = verbs.find((candidate) => candidate.name === name)
  return verb === undefined ? Result.fail(`no verb ${name}`) : verb.read(words)
}

const run = (...lines: ReadonlyArray<string>): StoryResult =>
  runStory({ seed: "verbs", lines: ["cluster a default", "cluster b", ...lines] })

/** Each verb with wrong lines, and the mistake in each. */
const wrong: ReadonlyArray<readonly [string, string]> = [
  ["cluster", '"" is not a cluster\'s name'],
  ["cluster a pods many", '"many" is not a number of pods'],
  ["cluster a main", '"main" is none of default, primary, pods'],
  ["primary", '"" is not a cluster\'s name'],
  ["primary a b", '"b" should be too'],
  ["primary a too b", '"b" is too much'],
  ["start some", '"some" is none of all, default'],
  ["ttl 1500ms", '"1500ms" is not a number of whole seconds'],
  ["timeout soon", '"soon" is not a duration'],
  ["ping 0s", "0 is no time between two pings"],
  ["session", '"" is not a session\'s name'],
  ["session s1 as ghost", '"ghost" is none of exec, port-forward, dump'],
  ["session s1 with b", '"with" is none of target, user, as, version'],
  ["session s1 target", "target has no value"],
  ["session s1 version 9", '"9" is not a protocol version'],
  ["tokens b 10m", '"10m" should be for'],
  ["tokens b for ever", '"ever" is not a duration'],
  ["tokens b for 10m at least 5m", '"least" should be most'],
  ["tokens b for 10m clock 5m", '"5m" is neither +<duration> nor -<duration>: write +5m'],
  ["tokens b for 10m soon", '"soon" is none of at, clock'],
  ["outbound", '"" is not a cluster\'s name'],
  ["outbound b for 1h", '"for" is none of certificates'],
  ["tunnel b", '"" is none of reset, silent, silent-up, silent-down, idle-cut'],
  ["tunnel b reset now", '"now" is too much'],
  ["sleep b", '"" is not a duration'],
  ["expire", '"" is not a cluster\'s name'],
  ["thief b twice", '"twice" is too much'],
  ["exchange b", '"b" is too much'],
  ["depart", '"" is not a cluster\'s name'],
  ["join", '"" is not a cluster\'s name'],
  ["restore b", '"b" is too much'],
  ["token b", '"" is none of new, helm, gone, opaque, broken, forgotten, dud'],
  ["token b new now", '"now" is too much'],
  ["authenticate b", '"" should be by'],
  ["authenticate b by token", '"token" is none of mtls, eks, aks'],
  ["authenticate b by eks 10m", '"10m" should be for'],
  ["found b by clusters", '"clusters" is none of kubeconfigSecrets, kubeconfigFile'],
  ["found b by clusterApi for 10m", '"for" should be with'],
  ["found b by clusterApi with eks", '"eks" is none of token, mtls'],
  ["found b by clusterProfile with token", '"with" should be for'],
  ["found b by clusterProfile for 10m now", '"now" is too much'],
  ["maker b", '"" is none of works, fails, hangs, slow, nonsense'],
  ["maker b works well", '"well" is too much'],
  ["provide", '"" is not a cluster\'s name, nonsense or files'],
  ["provide b now", '"now" is too much'],
  ["withdraw", '"" is not a cluster\'s name'],
  ["rotate b right", '"right" is none of wrong'],
  ["rotate b wrong again", '"again" is too much'],
  ["configure", '"" is none of add, remove, move, default, nonsense'],
  ["configure add", '"" is not a cluster\'s name'],
  ["configure nonsense b", '"b" is too much'],
  ["identity b", '"" is not a UID'],
  ["identity b one two", '"two" is too much'],
  ["claim b", '"" is not a UID'],
  ["connect-as bob", '"" is not a session\'s name'],
  ["steal s1", '"" is not a port'],
  ["steal s1 99999", '"99999" is not a port'],
  ["steal s1 80 for x", '"for" should be filter'],
  ["steal s1 80 filter (", '"(" is not a regular expression'],
  ["steal s1 80 filter", "the regular expression is missing"],
  ["mirror s1 http", '"http" is not a port'],
  ["unsubscribe s1 80 81", '"81" is too much'],
  ["request", '"" is not a cluster\'s name'],
  ["request a to s1", '"to" is none of port, with'],
  ["request a with x-user", '"x-user" is not a header: write x-user=ann'],
  ["request a port", '"" is not a port'],
  ["request a →", '"" is not who answers'],
  ["request a → s1 s2", '"s2" is too much'],
  ["env s1 a", '"a" should be → or nothing'],
  ["read s1 hosts", '"hosts" is not an absolute path'],
  ["resolve s1", "the host is missing"],
  ["connect s1 db:5432", '"db:5432" is not an address: write 10.9.0.1:5432'],
  ["connect s1 10.9.0.1:0", '"0" is not a port'],
  ["flood s1 much", '"much" is not a number of KiB'],
  ["tick", '"" is not a duration'],
  ["settle now", '"now" is too much'],
  ["leave", '"" is not a session\'s name'],
  ["leave operator", '"" is not a cluster\'s name'],
  ["kill s1 -9", '"-9" is too much'],
  ["delete s1", '"s1" should be session'],
  ["cut a", "\"\" is not a cluster's or session's name"],
  ["cut a b twice", '"twice" is none of one-way'],
  ["heal a", "\"\" is not a cluster's or session's name"],
  ["heal all now", '"now" is too much'],
  ["reset a b c", '"c" is too much'],
  ["silence a", "\"\" is not a cluster's or session's name"],
  ["slow a b", '"" is not a number of KiB per second'],
  ["slow a b 0", "0 KiB/s is no link"],
  ["slow agents a 2s 1s", "2s is longer than 1s"],
  ["latency a b 5", '"5" is not a duration'],
  ["swizzle long", '"long" is not a duration'],
  ["sharding a", '"a" is too much'],
  ["ephemeral a b", '"b" is too much'],
  ["node a gone", '"gone" is none of cut, lost, forgotten, back'],
  ["crash server a", '"server" is none of operator, agent'],
  ["crash operator a at call 3 before", '"3" is no call: write +1 for the next one'],
  ["crash operator a at call +3 within", '"within" is none of before, after'],
  ["crash operator a at call +3 before of pods", '"pods" is none of tokens, secrets'],
  ["crash operator a on call +3 before", '"on" should be at'],
  ["crash agent a twice", '"twice" is too much'],
  ["pause a", '"a" is none of operator, agent'],
  ["resume operator", '"" is not a cluster\'s name'],
  ["jam a", '"a" should be agent'],
  ["return a", '"a" should be operator'],
  ["replicas a none", '"none" is not a number of replicas'],
  ["replicas a 0", "0 is not a number of replicas: write 1 or more"],
  ["workload a service/db", '"service" is none of deployment, statefulset, job, cronjob'],
  ["workload a statefulset/db pods", '"" is not a number of pods'],
  ["workload a statefulset", '"" is not a workload\'s name'],
  ["copy c1 in a", '"in" should be at'],
  ["copy c1 at a of pod/x", '"pod" is none of deployment'],
  ["copy c1 at a idle soon", '"soon" is not a duration'],
  ["copy c1 at a quickly", '"quickly" is none of of, scale-down, user, idle'],
  ["branches a", '"a" is too much'],
  ["branch s1 shop", '"shop" should be of'],
  ["branch s1 of one+", '"" is not the id of a branch'],
  ["branch s1 of one engine oracle", '"oracle" is none of pg, mysql'],
  ["branch s1 of one ttl 1500ms", '"1500ms" is not a number of whole seconds'],
  ["branch s1 of one here", '"here" is none of at, engine, ttl, waits, user, local, forbidden, migrated'],
  ["engine a breaks", '"breaks" is none of works, fails, no-image, killed, slow'],
  ["engine a fails now", '"now" is too much'],
  ["database a drop one", '"drop" is none of make, make-foreign, make-lost, delete'],
  ["database a delete", '"" is not the id of a branch'],
  ["database a make one oracle", '"oracle" is none of pg, mysql'],
  ["database a evict one now", '"now" is too much'],
  ["expect branch a one Done", '"Done" is none of Init, Pending, Ready, Failed, gone'],
  ["meddle a restart copy", '"restart" is none of delete, scale'],
  ["meddle a scale deployment/myapp", '"" is not a number of pods'],
  ["meddle a delete copy c1", '"c1" is too much'],
  ["policy a one outgoing", '"outgoing" is none of steal, steal-without-filter'],
  ["policy a one steal for deployment/myapp", '"for" is none of on, copies'],
  ["policy a one steal on deployment/myapp/app", "is no workload: write deployment/myapp"],
  ["leader a sleeps", '"sleeps" is none of dies, stops, is-cut'],
  ["leader a dies for 5s", '"for 5s" is too much'],
  ["leader a stops 5s", '"5s" should be for'],
  ["leader a is-cut for long", '"long" is not a duration'],
  ["rollout", '"" is not a cluster'],
  ["rollout a b", '"b" is too much'],
  ["skew operator a 10m", '"10m" is neither +<duration> nor -<duration>: write +10m'],
  ["skew operator a +soon", '"soon" is not a duration'],
  ["stop operator a", '"operator" should be server'],
  ["restart a", '"a" should be server'],
  ["errors a sometimes for 5s", '"sometimes" is none of unreachable, answer-lost'],
  ["errors a gone until 5s", '"until" should be for'],
  ["errors a gone for 5", '"5" is not a duration'],
  ["errors a gone for 5s 120%", '"120%" is no percentage: write 30%'],
  ["errors a gone for 1 calls of pods", '"pods" is none of tokens, secrets'],
  ["errors a gone for 5s on update", '"update" is none of get, list'],
  ["watch a lose", '"lose" is none of drop, restore'],
  ["stale a", '"" is not a number of writes'],
  ["stale a 3 until 5s", '"until" should be for'],
  ["agents a version 1", '"1" is not a protocol version'],
  ["images a gone", '"gone" is none of missing, back'],
  ["pods a die", '"die" is none of reschedule, replace'],
  ["pods a scale", '"" is not a number of pods'],
  ["pods a ready 3", '"3" is too much'],
  ["canary a", '"" is not a number of pods'],
  ["canary a 1 2", '"2" is too much'],
  ["kubectl a apply", '"apply" is none of delete, edit'],
  ["kubectl a delete node", '"node" is none of child, parent, job, pod'],
  ["kubectl a delete job s1", '"s1" is too much'],
  ["kubectl a edit job s1 wipe-status", '"job" is none of child, parent'],
  ["kubectl a edit child s1 shout", '"shout" is none of wipe-status, drop-labels'],
  ["expect", '"" is not a session\'s name or one of phase'],
  ["expect s1 happy", '"happy" is none of serving, waiting, ended'],
  ["expect s1 serving well", '"well" is too much'],
  ["expect phase s1 Done", '"Done" is none of Initializing, Pending'],
  ["expect child a some", '"some" is not how many there should be'],
  ["expect member s1 b lost", '"lost" is none of ready, waits, left-out'],
  ["expect log s1", "what the log says is missing"],
  ["expect nothing", '"" is none of left'],
  ["expect within s1 serving", '"s1" is not a duration']
]

describe("verbs", () => {
  it("have names of their own, a form that begins with it, and a sentence", () => {
    expect(new Set(verbs.map(({ name }) => name)).size).toBe(verbs.length)
    for (const { name, summary, usage } of verbs) {
      expect(usage.startsWith(name), usage).toBe(true)
      expect(summary, name).toMatch(/[.)]$/)
    }
  })

  it.each(wrong)("%s: %s", (line, sentence) => {
    const result = read(line)
    expect(Result.isFailure(result) ? result.failure : "it is taken").toContain(sentence)
  })

  it("are all in the table", () => {
    const shown = new Set(wrong.map(([line]) => line.split(" ")[0]))
    expect(verbs.map(({ name }) => name).filter((name) => !shown.has(name))).toEqual([])
  })

  it("draw random lines that they can read", () => {
    const random = new RandomStream("lines")
    const draw: Draw = {
      random,
      clusters: ["a", "b"],
      primary: "primary",
      copiesAt: "primary",
      places: ["primary", "a", "b"],
      elected: ["primary"],
      sessions: ["s1", "s2"],
      newSession: () => "s3"
    }
    for (const verb of verbs) {
      if (verb.kind === "setup" || verb.random === undefined) continue
      for (let i = 0; i < 100; i++) {
        const line = verb.random.line(draw)
        if (line === undefined) continue
        expect(line.split(" ")[0]).toBe(verb.name)
        expect(read(line), line).toMatchObject({ _tag: "Success" })
      }
    }
  })

  it("draw nothing about sessions while there is none", () => {
    const draw: Draw = {
      random: new RandomStream("none"),
      clusters: ["a"],
      primary: "a",
      copiesAt: "a",
      places: ["a"],
      elected: [],
      sessions: [],
      newSession: () => "s1"
    }
    const drawn = verbs.flatMap((verb) =>
      verb.kind === "act" && verb.random !== undefined ? [verb.random.line(draw)] : []
    )
    expect(drawn.filter((line) => line !== undefined && /undefined/.test(line))).toEqual([])
  })
})

describe("lines about what is not there", () => {
  const rows: ReadonlyArray<readonly [line: string, sentence: string]> = [
    ["steal s9 80", "there is no session s9"],
    ["request c → s1", "there is no cluster c"],
    ["cut primary c", "there is no place c"],
    ["cut a a", "a and a are the same place"],
    ["reset primary b", "there is no connection between primary and b"],
    ["env s9 → a", "there is no session s9"],
    ["crash agent a", "no agent runs in a"],
    ["resume operator a", "no operator of a is paused"],
    ["leader a dies", "no leader is elected in a"],
    ["rollout a", "no leader is elected in a"],
    ["return operator a", "the operator of a is not gone"],
    ["restart server a", "the API server of a is up"],
    ["meddle a delete copy", "there is no copy in a"],
    ["meddle a delete statefulset/db", "there is no statefulset/db in a"],
    ["policy a one gone", "there is no policy one in a"],
    ["kubectl a delete child s9", "there is no such child in a"],
    ["expect s9 serving", "s9 serving: a name of it is not in this story"]
  ]

  // One story tells them all, since each leaves the world as it was.
  it("do nothing, and say why", () => {
    const { transcript, violations } = run("tick 1s", ...rows.map(([line]) => line))
    expect(violations).toEqual([])
    const said = rows.map(([line]) => [line, transcript[transcript.indexOf(line) + 1]])
    expect(said).toEqual(rows.map(([line, sentence]) => [line, `  ${sentence}: nothing happens`]))
  })
})

describe("expectations", () => {
  it.each([
    ["request a → s1", "request 0 at a should be answered by s1, but: workload."],
    ["env s1 → env of b", 's1 should be told "env of b", but it is told env of a.'],
    ["expect s1 ended", "Expected: s1 ended; but it is serving."],
    ["expect phase s1 Failed", "Expected: phase s1 Failed; but it is Ready."],
    ["expect member s1 b left-out", "Expected: member s1 b left-out; but it is ready."],
    ["expect child a 2", "Expected: child a 2; but there are 1."],
    ["expect within 1s agents b 0", "Expected: agents b 0; but there are 1."],
    ["expect log s1 b is late", "Expected: log s1 b is late; but its log says nothing."]
  ])("%s fails the story where it does not hold", (line, detail) => {
    expect(run("session s1", "tick 5s", line).violations).toMatchObject([{ id: "expect", detail, line: 5 }])
  })

  it("nothing left names what is left", () => {
    expect(run("session s1", "tick 5s", "expect nothing left").violations[0]?.detail).toMatch(
      /parent mc-\w+ in primary, child mc-\w+-a in a, job \S+ in a, agent \S+ in a/
    )
  })

  it("within passes no more time than it must", () => {
    const { transcript, violations } = run("session s1", "expect within 1m s1 serving", "tick 1s", "expect s1 serving")
    expect(violations).toEqual([])
    expect(transcript.filter((line) => line.includes("s1 ended: left"))).toMatchObject([
      expect.stringMatching(/^ {2}40[2-5]\./)
    ])
  })
})

describe("faults", () => {
  it("crash at the n-th call hits that call, once", () => {
    const { events } = runStory(
      {
        seed: "calls",
        lines: ["cluster a default", "tick 1s", "crash operator primary at call +3 before", "session s1", "tick 10s"]
      },
      { events: true }
    )
    const crashes = events.filter((event) => event._tag === "Operator" && event.change === "crashed")
    expect(crashes).toHaveLength(1)
    const announced = events.find((event) => event._tag === "Fault")
    const [index] = announced?._tag === "Fault" ? (/\d+$/.exec(announced.text) ?? []) : []
    expect(crashes).toMatchObject([{ cluster: "primary" }])
    expect(index).toBeDefined()
    const last = events.findLast((event) => event._tag === "Called" && event.process === "operator-primary-1")
    expect(last).toMatchObject({ call: { index: Number(index) } })
  })

  it("errors end after so many calls, and strike only the wanted ones", () => {
    const { events } = runStory(
      {
        seed: "errors",
        lines: [
          "cluster a default",
          "cluster b",
          "tick 1s",
          "errors a conflict for 2 calls from primary on create",
          "session s1",
          "tick 20s"
        ]
      },
      { events: true }
    )
    const struck = events.flatMap((event) =>
      event._tag === "Answered" && event.outcome === "Conflict" && event.call.to === "a" ? [event.call] : []
    )
    expect(struck).toHaveLength(2)
    for (const call of struck) expect(call).toMatchObject({ operator: "primary", verb: "create" })
  })

  it("what a swizzle has in mind is called off by healing", () => {
    const { transcript, violations } = run(
      "session s1",
      "steal s1 80",
      "tick 5s",
      "swizzle 2h",
      "heal all",
      "tick 30m",
      "request a → s1",
      "request b → s1"
    )
    expect(violations).toEqual([])
    expect(transcript.some((line) => line.includes("was lost"))).toBe(false)
  })

  it("are counted by kind", () => {
    const { faults } = run("cut primary b", "cut primary a one-way", "skew operator a +10m", "heal all")
    expect(faults).toEqual({ cut: 2, "clock skew": 1 })
  })
})
