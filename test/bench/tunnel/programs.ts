/** The programs of the benchmark of tunnels: their certificates, their CPUs, and the lines that they hear and say. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { setPriority, tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface, type Interface } from "node:readline"
import { setTimeout as pause } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { Redacted, Result } from "effect"
import { freePort } from "../../../lab/playground/free-ports.ts"
import { image } from "../../../scripts/image.mjs"
import {
  makeOutpostRequest,
  makeTunnelAuthority,
  signCell,
  signOutpost
} from "../../../src/adapters/x509/tunnel-certificates.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import type { Measured, Order } from "./lanes.ts"

/** Each side of a tunnel has one, with its generator of load, so that no carrier has both. */
export const cpus = { near: "0", far: "1" } as const
export type Side = keyof typeof cpus

/** The priority of all programs, where it may be given: other work of the machine is not to be measured. */
const priority = -15

/** Linux shares CPUs out to sessions first, where it groups processes by them, and then to processes. */
const prefer = (pid = 0): void => {
  try {
    setPriority(pid, priority)
    writeFileSync(`/proc/${pid}/autogroup`, String(priority))
  } catch {
    // Not as root, or not with such groups: the load of the machine is printed, too.
  }
}

/** A program of this folder, with the image's options. */
export const ours = (program: URL): ReadonlyArray<string> => [
  ...[process.execPath, "--expose-gc", ...image.options],
  fileURLToPath(program)
]
const sideProgram = ours(new URL("./side.ts", import.meta.url))

/** A running program, which says lines of JSON. */
export class Program {
  readonly child: ChildProcess
  readonly #name: string
  readonly #lines: AsyncIterator<string>
  readonly #reader: Interface

  /** `isQuiet`: its log is not shown. */
  constructor(name: string, side: Side, command: ReadonlyArray<string>, isQuiet: boolean) {
    this.#name = name
    this.child = spawn("taskset", ["-c", cpus[side], ...command], {
      // A session of its own.
      detached: true,
      stdio: ["pipe", "pipe", isQuiet ? "ignore" : "inherit"],
      env: { ...process.env, ...image.environment }
    })
    prefer(this.child.pid)
    const { stdout } = this.child
    if (stdout === null) throw new Error(`${name} has no output`)
    this.#reader = createInterface(stdout)
    this.#lines = this.#reader[Symbol.asyncIterator]()
  }

  /** The next line. */
  async heard<A>(): Promise<A> {
    const { done, value } = await this.#lines.next()
    if (done === true) throw new Error(`tunnel: ${this.#name} has ended`)
    return JSON.parse(value) as A
  }

  async ask<A>(order: object): Promise<A> {
    this.child.stdin?.write(`${JSON.stringify(order)}\n`)
    return this.heard()
  }

  /** Processor time since the start, s. Linux counts it in hundredths. */
  cpu(): number {
    const stat = readFileSync(`/proc/${this.child.pid}/stat`, "utf8")
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return (Number(fields[11]) + Number(fields[12])) / 100
  }

  end(): void {
    this.child.kill("SIGKILL")
    this.#reader.close()
  }
}

/** A way for lanes. */
export class Carrier {
  readonly name: string
  readonly #programs: ReadonlyArray<Program>

  /** `programs`: of both sides; the last one obeys orders. */
  constructor(name: string, programs: ReadonlyArray<Program>) {
    this.name = name
    this.#programs = programs
  }

  /** Carries an order out; `undefined` if it has not come to an end within half a minute. */
  async obey(order: Order): Promise<Measured | undefined> {
    const patience = new AbortController()
    try {
      return await Promise.race([
        this.#programs.at(-1)?.ask<Measured>(order),
        pause(longest, undefined, { signal: patience.signal })
      ])
    } finally {
      patience.abort()
    }
  }

  /** Processor time of all programs, s. */
  cpu(): number {
    return this.#programs.reduce((sum, program) => sum + program.cpu(), 0)
  }

  end(): void {
    for (const program of this.#programs) program.end()
  }
}

/** The longest time of an order, ms. */
const longest = 30_000

/** A folder with certificates and programs. */
export class Workshop {
  readonly folder = mkdtempSync(join(tmpdir(), "braid-tunnel-"))
  readonly #programs: Array<Program> = []

  async writeCertificates(): Promise<void> {
    const life = { from: Date.now() - 60_000, until: Date.now() + 86_400_000 }
    const authority = await makeTunnelAuthority(life)
    const cell = await signCell(authority, ["localhost"], life)
    const { keyPem, requestPem } = await makeOutpostRequest()
    const signed = await signOutpost(authority, { requestPem, name: clusterName("member"), life })
    const texts = {
      "ca.pem": authority.certificatePem,
      "cell.pem": cell.certificatePem,
      "cell.key": Redacted.value(cell.keyPem),
      "outpost.pem": Result.getOrThrow(signed),
      "outpost.key": Redacted.value(keyPem)
    }
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(this.folder, name), text)
  }

  /** Builds the programs in Go; says why there are none. */
  buildOthers(): string | undefined {
    const konnectivity = ["server", "agent"].map((name) => `sigs.k8s.io/apiserver-network-proxy/cmd/${name}`)
    try {
      execFileSync("go", ["build", "-o", `${this.folder}/`, "./konnectivity", "./remotedialer", ...konnectivity], {
        cwd: fileURLToPath(new URL("others", import.meta.url)),
        stdio: ["ignore", "ignore", "pipe"]
      })
      return undefined
    } catch (error) {
      return String(error instanceof Error ? error.message : error)
        .split("\n")
        .slice(0, 3)
        .join(" ")
    }
  }

  start(name: string, side: Side, command: ReadonlyArray<string>, isQuiet = false): Program {
    const program = new Program(name, side, command, isQuiet)
    this.#programs.push(program)
    return program
  }

  /** A member that is reached without a tunnel. */
  async direct(): Promise<Carrier> {
    const port = String(await freePort())
    const far = this.start("direct", "far", [...sideProgram, "far", "direct", this.folder, port])
    await far.heard()
    const near = this.start("direct", "near", [...sideProgram, "near", "direct", this.folder, port])
    await near.heard()
    return new Carrier("direct", [far, near])
  }

  async tunnel(): Promise<Carrier> {
    const port = String(await freePort())
    const near = this.start("tunnel", "near", [...sideProgram, "near", "tunnel", this.folder, port])
    await near.heard()
    const far = this.start("tunnel", "far", [...sideProgram, "far", "tunnel", this.folder, port])
    await far.heard()
    return new Carrier("tunnel", [far, near])
  }

  async remotedialer(): Promise<Carrier> {
    const program = join(this.folder, "remotedialer")
    const ports = [String(await freePort()), String(await freePort())]
    const far = this.start("remotedialer", "far", [program, "far", this.folder, ...ports])
    await far.heard()
    const near = this.start("remotedialer", "near", [program, "near", this.folder, ...ports])
    await near.heard()
    return new Carrier("remotedialer", [far, near])
  }

  async konnectivity(): Promise<Carrier> {
    const ports = (await Promise.all(Array.from({ length: 7 }, freePort))).map(String)
    const [users = "", agents = "", admin, health, agentAdmin, agentHealth, target = ""] = ports
    const name = "konnectivity"
    const file = (wanted: string): string => join(this.folder, wanted)
    const local = (what: string, port: string | undefined): ReadonlyArray<string> => [
      `--${what}-port=${port}`,
      `--${what}-bind-address=127.0.0.1`
    ]
    const pair = (what: string, owner: string): ReadonlyArray<string> => [
      `--${what}-cert=${file(`${owner}.pem`)}`,
      `--${what}-key=${file(`${owner}.key`)}`
    ]
    const trusted = file("ca.pem")
    const serverCommand = [
      ...[file("server"), "--mode=grpc", "--server-count=1", "--server-id=one"],
      ...[...local("server", users), ...local("agent", agents), ...local("admin", admin), ...local("health", health)],
      ...[...pair("server", "cell"), `--server-ca-cert=${trusted}`],
      ...[...pair("cluster", "cell"), `--cluster-ca-cert=${trusted}`]
    ]
    const agentCommand = [
      ...[file("agent"), "--proxy-server-host=localhost", `--proxy-server-port=${agents}`],
      ...[...pair("agent", "outpost"), `--ca-cert=${trusted}`],
      ...[`--admin-server-port=${agentAdmin}`, "--admin-bind-address=127.0.0.1"],
      ...[`--health-server-port=${agentHealth}`, "--health-server-host=127.0.0.1"]
    ]
    // Until both stand each tells of it.
    const server = this.start(name, "near", serverCommand, true)
    const agent = this.start(name, "far", agentCommand, true)
    const far = this.start(name, "far", [file("konnectivity"), "far", this.folder, target])
    await far.heard()
    const near = this.start(name, "near", [file("konnectivity"), "near", this.folder, users, target])
    await near.heard()
    return new Carrier(name, [server, agent, far, near])
  }

  close(): void {
    for (const program of this.#programs) program.end()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
