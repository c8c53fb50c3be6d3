import { type ChildProcess, spawn } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pods } from "../../lab/cluster/store/resource-refs.ts"
import { processesWith } from "../../lab/playground/branches/home-processes.ts"
import { dialFrom } from "../../lab/playground/dial-from.ts"
import { operatorNamespace, workloadTarget } from "../../lab/playground/manifests.ts"
import { type RunningNode, startNodePlayground } from "../../lab/playground/node/node-playground.ts"
import type { Command } from "../../lab/playground/started-program.ts"
import { image } from "../../scripts/image.mjs"
import { request } from "../real/harness.ts"
import { describeWith } from "../support/describe-with.ts"
import { eventually } from "../support/eventually.ts"
import { fieldsOf, type LogFields } from "../support/logfmt.ts"
import { untilTrue } from "../support/until-true.ts"
import { kubectl as administer, useNodes } from "./nodes.ts"
import { dialling, group, letPeopleIn, member, pod, user } from "./people.ts"

interface Ended {
  readonly code: number
  readonly output: Buffer
  readonly errors: string
}

interface Running {
  readonly child: ChildProcess
  readonly say: (bytes: string | Buffer) => void
  readonly heard: () => Buffer
  /** Closes the input, and waits for the end. */
  readonly end: () => Promise<Ended>
}

const hash = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

describeWith(["node", "control plane"], "kubectl in pods of a member that dials out", () => {
  const nodes = useNodes((parts) =>
    Effect.map(
      startNodePlayground({
        ...parts,
        topology: dialling,
        peopleGroups: [group],
        sessionTtlSecs: 5,
        remoteSessionTimeoutSecs: 300,
        progress: () => Effect.void
      }),
      (playground) => ({ playground, ...parts })
    )
  )
  const named = (name: string): RunningNode => {
    const found = nodes.started().playground.clusters.find(({ description }) => description.name === name)
    if (found === undefined) throw new Error(`there is no cluster ${name}`)
    return found
  }
  const [primary, other] = [() => nodes.started().playground.primary.cluster, () => named(member).cluster]
  const children = new Set<ChildProcess>()
  let through = ""

  const command = (args: ReadonlyArray<string>): Command => [
    nodes.started().programs.kubectl,
    `--kubeconfig=${through}`,
    ...args
  ]
  const startCommand = ([file, ...args]: Command, variables: Readonly<Record<string, string>> = {}): Running => {
    const env = { HOME: nodes.started().directory, PATH: process.env["PATH"] ?? "", ...variables }
    const child = spawn(file, args, { env })
    children.add(child)
    const chunks = new Array<Buffer>()
    child.stdout.on("data", (chunk: Buffer) => void chunks.push(chunk))
    child.stdin.on("error", () => {})
    const errors = text(child.stderr)
    const closed = once(child, "close")
    const heard = (): Buffer => Buffer.concat(chunks)
    return {
      child,
      heard,
      say: (bytes) => void child.stdin.write(bytes),
      end: async () => {
        child.stdin.end()
        const [code] = (await closed) as [number]
        return { code, output: heard(), errors: await errors }
      }
    }
  }
  /** Runs kubectl as the person, through the primary. */
  const start = (args: ReadonlyArray<string>, variables?: Readonly<Record<string, string>>): Running =>
    startCommand(command(args), variables)
  const kube = (args: ReadonlyArray<string>, variables?: Readonly<Record<string, string>>): Promise<Ended> =>
    start(args, variables).end()
  const sh = (script: string): ReadonlyArray<string> => ["exec", "-i", pod, "--", "sh", "-c", script]

  beforeAll(async () => {
    through = await letPeopleIn(primary(), other(), nodes.started().directory)
  })
  afterAll(() => {
    for (const child of children) child.kill("SIGKILL")
  })

  it("goes where the primary's operator has no way", async () => {
    const { hostname: host, port } = new URL(other().serverForOthers)
    const inOperator = ([, ...args]: Command): Command => [
      nodes.started().programs.kubectl,
      ...[`--kubeconfig=${primary().kubeconfigPath}`, "exec"],
      ...["-n", operatorNamespace, "deployment/mirrord-operator", "--", image.node, ...args]
    ]
    expect(await dialFrom(inOperator, { host, port: Number(port) })).toBe("ECONNREFUSED")
    const own = new URL(primary().serverForOthers)
    expect(await dialFrom(inOperator, { host: own.hostname, port: Number(own.port) })).toBe("connected")
  })

  it.each([[["top", "pods"]], [["top", "nodes"]]])("%j gets the answer of the member", async (args) => {
    const { code, errors } = await kube(args)
    expect([code, errors]).toEqual([1, expect.stringContaining("Metrics API not available")])
  })

  describe.each([
    ["WebSockets", {}, "GET"],
    ["SPDY", { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false", KUBECTL_PORT_FORWARD_WEBSOCKETS: "false" }, "POST"]
  ] as const)("by %s", (_name, variables, method) => {
    const upgrades = (): ReadonlyArray<string> =>
      other()
        .callers()
        .filter((caller) => caller.user === `primary:${user}` && /\/(exec|attach|portforward)(\?|$)/u.test(caller.path))
        .map((caller) => caller.method)
    let before = 0
    beforeAll(() => {
      before = upgrades().length
    })

    it("exec carries input, output, errors and the exit code", async () => {
      const running = start(sh('cat; echo "no way" >&2; exit 7'), variables)
      running.say("hello\n")
      await untilTrue("an answer", () => running.heard().equals(Buffer.from("hello\n")))
      running.say("more\n")
      const { code, errors, output } = await running.end()
      expect([code, String(output)]).toEqual([7, "hello\nmore\n"])
      expect(errors).toMatch(/^no way\n/u)
    })

    it("exec -it has a terminal", async () => {
      const words = command(["exec", "-it", pod, "--", "sh", "-c", "[ -t 0 ] && read -r line && echo heard $line"])
      const typed = words.map((word) => `'${word}'`).join(" ")
      const running = startCommand(["script", "--quiet", "--return", "--command", typed, "/dev/null"], variables)
      running.say("typed\n")
      await untilTrue("an answer", () => String(running.heard()).includes("heard typed\r\n"))
      expect(await running.end()).toMatchObject({ code: 0 })
    })

    it("cp brings a large file there and back", async () => {
      const { directory } = nodes.started()
      const folder = join(directory, method)
      mkdirSync(folder)
      const bytes = randomBytes(8 * 1_048_576)
      writeFileSync(join(folder, "there"), bytes)
      expect(await kube(["cp", join(folder, "there"), `${pod}:/tmp/there`], variables)).toMatchObject({ code: 0 })
      expect(String((await kube(sh("sha256sum < /tmp/there"), variables)).output)).toContain(hash(bytes))
      expect(await kube(["cp", `${pod}:/tmp/there`, join(folder, "back")], variables)).toMatchObject({ code: 0 })
      expect(hash(readFileSync(join(folder, "back")))).toBe(hash(bytes))
    })

    it("attach -i speaks with the pod's own program, which logs -f shows", async () => {
      const logs = start(["logs", "-f", "--tail=0", pod])
      const attached = start(["attach", "-i", pod], variables)
      const word = `by-${method}`
      // Each of them may begin later than the other, and hears nothing of before.
      await eventually("what the program says", () => {
        attached.say(`${word}\n`)
        for (const { heard } of [attached, logs]) expect(String(heard())).toContain(`heard ${word}`)
      })
      attached.child.kill("SIGINT")
      await attached.end()
      logs.child.kill("SIGINT")
      await logs.end()
    })

    it("port-forward carries requests", async () => {
      const running = start(["port-forward", workloadTarget, ":80"], variables)
      let port = ""
      await untilTrue("the port", () => {
        port = /127\.0\.0\.1:(\d+)/u.exec(String(running.heard()))?.[1] ?? ""
        return port !== ""
      })
      const asked = Array.from({ length: 8 }, (_, at) => request(`http://127.0.0.1:${port}`, `/${at}`))
      for (const [at, answer] of (await Promise.all(asked)).entries())
        expect(answer).toContain(`hello from ${member}: GET /${at}`)
      running.child.kill("SIGINT")
      await running.end()
    })

    it("ten at once keep apart, and one more is refused with the reason", async () => {
      const all = Array.from({ length: 10 }, () => start(sh("cat"), variables))
      for (const running of all) running.say("x")
      await untilTrue("all are open", () => all.every(({ heard }) => heard().length === 1))
      const { code, errors } = await kube(sh("true"), variables)
      expect([code, errors]).toEqual([1, expect.stringContaining(`User "${user}" has 10 connections to pods`)])
      await Promise.all(
        all.map(async (running) => {
          const bytes = randomBytes(1_048_576)
          running.say(bytes)
          const ended = await running.end()
          expect(ended.code).toBe(0)
          expect(hash(ended.output)).toBe(hash(Buffer.concat([Buffer.from("x"), bytes])))
        })
      )
    })

    it("never asks by another kind of upgrade", () => {
      const methods = upgrades().slice(before)
      expect(methods.length).toBeGreaterThanOrEqual(15)
      expect(new Set(methods)).toEqual(new Set([method]))
    })
  })

  /** The operator's lines about requests of people. */
  const linesOf = async (name: string, ...flags: ReadonlyArray<string>): Promise<ReadonlyArray<LogFields>> =>
    (
      await administer(
        named(name).cluster,
        ...["logs", "-n", operatorNamespace, "deployment/mirrord-operator", "--tail=-1", ...flags]
      )
    )
      .split("\n")
      .map(fieldsOf)
      .filter(({ act }) => act === "proxied")

  it("is noted alike by both operators", async () => {
    const of = async (name: string) =>
      (await linesOf(name))
        .filter(({ code, stage }) => stage === "ResponseComplete" && code !== "503")
        .map(({ code, path, request: id }) => `${id} ${path} ${code}`)
        .toSorted()
    await eventually("the lines of both", async () => expect(await of("cluster-a")).toEqual(await of(member)))
  })

  it("has a line also where the operator is killed while it goes on", async () => {
    const running = start(sh("cat"))
    running.say("x")
    await untilTrue("it is open", () => running.heard().length === 1)
    const uid = primary()
      .store.list(pods, { namespace: operatorNamespace })
      .items.find(({ metadata }) => metadata.name?.startsWith("mirrord-operator-"))?.metadata.uid
    for (const pid of processesWith("OPERATOR_POD_UID", uid ?? "")) process.kill(pid, "SIGKILL")
    await running.end()
    const lines = await eventually("the log before the end", () => linesOf("cluster-a", "--previous"))
    const last = lines.at(-1) ?? {}
    expect(last).toMatchObject({ stage: "RequestReceived", user, upgrade: "true" })
    expect(last["path"]).toBe(`/api/v1/namespaces/default/pods/${pod}/exec`)
    await eventually("the end in the member", async () => {
      const its = (await linesOf(member)).filter(({ request: id }) => id === last["request"])
      expect(its.map(({ stage }) => stage)).toEqual(["RequestReceived", "ResponseComplete"])
    })
  })
})
