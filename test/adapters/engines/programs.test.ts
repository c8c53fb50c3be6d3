import { spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { migrateProgram, programsOf } from "../../../src/adapters/engines/programs.ts"
import { engines } from "../../../src/domain/branches/engines.ts"

const engineFiles = fileURLToPath(new URL("../../../src/adapters/engines", import.meta.url))

const served = Object.values(engines).flatMap(({ dialect, name }) =>
  dialect === undefined ? [] : [{ name, folder: dialect.programs, ...programsOf(dialect) }]
)

const servers = ["clickhouse-server", "java", "mariadbd", "mongod", "mysqld", "postgres", "redis-server"]

/** The arguments that a branch's server gets for those of its container. Every program only tells its own. */
const servedWith = (script: string, podIp: string, args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const folder = mkdtempSync(join(tmpdir(), "braid-serve-"))
  try {
    for (const name of servers) {
      writeFileSync(join(folder, name), `#!/bin/sh\nprintf '%s\\n' "$@"\n`)
      chmodSync(join(folder, name), 0o755)
    }
    const DATA = join(folder, "data")
    mkdirSync(DATA)
    writeFileSync(join(DATA, "timezone"), "")
    const env = {
      PATH: `${folder}:${process.env["PATH"] ?? ""}`,
      DATA,
      STAGING: folder,
      POD_IP: podIp
    }
    const { status, stderr, stdout } = spawnSync("sh", ["-c", script, "sh", ...args], { env, encoding: "utf8" })
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
    return stdout.split("\n").slice(0, -1)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe("the programs of a branch", () => {
  it.each(served)("can be read by a shell: $name", ({ copy, serve }) => {
    for (const input of [copy, serve]) {
      expect(spawnSync("sh", ["-n"], { input, encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" })
    }
  })

  it.each(served)("give the server the arguments of the container: $name", ({ serve }) => {
    const args = ["--first=a b", "--second=*"]
    for (const podIp of ["10.1.2.3", "fd00::1", ""]) {
      expect(servedWith(serve, podIp, args).slice(-args.length)).toEqual(args)
    }
  })

  /** By which a server that is only filled listens to no address of the pod; DynamoDB begins empty without one. */
  const deaf = new RegExp(
    [
      "-c listen_addresses= -c",
      "--skip-networking --socket=",
      '--bind_ip "\\$STAGING',
      "--port 0 --unixsocket",
      "configure 127\\.0\\.0\\.1"
    ].join("|"),
    "u"
  )
  it.each(served.filter(({ name }) => name !== "DynamoDB"))(
    "let nobody in before the copy is complete: $name",
    ({ copy, serve }) => {
      expect(copy).toMatch(deaf)
      expect(serve).not.toMatch(deaf)
      expect(serve).toContain("POD_IP")
    }
  )

  it.each(served)("say the same where their file runs by itself: $name", ({ copy, folder }) => {
    const env = {
      PATH: process.env["PATH"],
      COPY_MODE: "all",
      COPY_SECONDS: "9",
      SOURCE_URL: "ftp://h/d",
      STAGING: "s"
    }
    const cwd = mkdtempSync(join(tmpdir(), "braid-copy-"))
    try {
      const run = (...args: ReadonlyArray<string>) => {
        const { status, stderr, stdout } = spawnSync("sh", args, { cwd, encoding: "utf8", env })
        return { status, stderr, stdout }
      }
      const alone = run(join(engineFiles, folder, "copy.sh"))
      expect(alone).toEqual(run("-c", copy))
      expect(alone).toMatchObject({ status: 1, stdout: "", stderr: expect.stringMatching(/\n$/u) })
    } finally {
      rmSync(cwd, { recursive: true })
    }
  })

  it("have nothing in them that only their files need", () => {
    const texts = [...served.flatMap(({ copy, serve, started = "" }) => [copy, serve, started]), migrateProgram]
    for (const text of texts) expect(text).not.toMatch(/^#!|dirname|shellcheck/mu)
  })

  it.each(served)("name folders by variables alone: $name", ({ copy, serve }) => {
    for (const script of [copy, serve]) {
      expect(script.replace(/\/dev\/null/gu, "")).not.toMatch(/(?<=[\s"'=])\/[a-z]/u)
    }
  })
})
