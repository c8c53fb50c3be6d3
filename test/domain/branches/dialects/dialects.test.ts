import { spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { engines } from "../../../../src/domain/branches/engines.ts"

const served = Object.values(engines).flatMap(({ dialect, name }) => (dialect === undefined ? [] : [{ name, dialect }]))

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
  it.each(served)("can be read by a shell: $name", ({ dialect }) => {
    for (const input of [dialect.copyScript, dialect.serveScript]) {
      expect(spawnSync("sh", ["-n"], { input, encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" })
    }
  })

  it.each(served)("give the server the arguments of the container: $name", ({ dialect }) => {
    const args = ["--first=a b", "--second=*"]
    for (const podIp of ["10.1.2.3", "fd00::1", ""]) {
      expect(servedWith(dialect.serveScript, podIp, args).slice(-args.length)).toEqual(args)
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
    ({ dialect }) => {
      expect(dialect.copyScript).toMatch(deaf)
      expect(dialect.serveScript).not.toMatch(deaf)
      expect(dialect.serveScript).toContain("POD_IP")
    }
  )

  it.each(served)("name folders by variables alone: $name", ({ dialect }) => {
    for (const script of [dialect.copyScript, dialect.serveScript]) {
      expect(script.replace(/\/dev\/null/gu, "")).not.toMatch(/(?<=[\s"'=])\/[a-z]/u)
    }
  })
})
