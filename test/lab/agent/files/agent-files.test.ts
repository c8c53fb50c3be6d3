/** Files below the container's root, and the points in which the reference agent goes beyond the real agent. */

import * as fs from "node:fs"
import * as os from "node:os"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { AgentFiles, type FileAnswer } from "../../../../lab/agent/files/agent-files.ts"
import type { FileRequest } from "../../../../src/domain/protocol/file-messages.ts"

let outside: string
let root: string
let files: AgentFiles

beforeEach(() => {
  outside = fs.mkdtempSync(`${os.tmpdir()}/agent-files-`)
  root = `${outside}/root`
  fs.mkdirSync(`${root}/etc`, { recursive: true })
  fs.writeFileSync(`${outside}/secret`, "secret")
  fs.writeFileSync(`${root}/etc/hostname`, "pod\n")
  files = new AgentFiles(root, () => 1_000_000)
})
afterEach(() => {
  files.close()
  fs.rmSync(outside, { recursive: true, force: true })
})

const options = { read: true, write: true, append: false, truncate: false, create: true, createNew: false }
const handle = (request: FileRequest): FileAnswer => files.handle(request)
const open = (path: string, openOptions = options) => handle({ _tag: "Open", value: { path, openOptions } })
const stat = (path: string) => handle({ _tag: "Xstat", value: { path, fd: null, followSymlink: true } })
const opened = (fd: bigint): unknown => ({
  _tag: "Answer",
  response: { _tag: "Open", value: { _tag: "Ok", value: { fd } } }
})
const failed = (_tag: string, kind: string, rawOsError: number | null): unknown => ({
  _tag: "Answer",
  response: { _tag, value: { _tag: "Err", error: { _tag: "RemoteIO", value: { rawOsError, kind: { _tag: kind } } } } }
})

describe("the container's root", () => {
  it("is where absolute paths and links start", () => {
    fs.symlinkSync("/etc/hostname", `${root}/absolute`)
    fs.symlinkSync("../etc", `${root}/etc/self`)
    expect(open("/absolute", { ...options, create: false })).toEqual(opened(0n))
    expect(open("/etc/self/self/hostname", { ...options, create: false })).toEqual(opened(1n))
    expect(handle({ _tag: "Read", value: { remoteFd: 0n, bufferSize: 10n } })).toMatchObject({
      response: { value: { value: { readAmount: 4n } } }
    })
  })

  it("cannot be left, by dots or by links", () => {
    fs.symlinkSync("../secret", `${root}/up`)
    fs.symlinkSync("../../secret", `${root}/etc/up`)
    fs.symlinkSync(`${outside}/secret`, `${root}/host`)
    fs.symlinkSync("../../..", `${root}/etc/dots`)
    for (const path of ["/../secret", "/etc/../../secret", "/up", "/etc/up", "/etc/dots/secret"]) {
      expect({ path, answer: stat(path) }).toEqual({ path, answer: failed("Xstat", "NotFound", null) })
    }
    expect(stat("/host")).toEqual(failed("Xstat", "NotFound", 2))
    expect(open("/../new")).toEqual(failed("Open", "NotFound", null))
    expect(handle({ _tag: "Unlink", value: { pathname: "/../secret" } })).toEqual(failed("Unlink", "NotFound", null))
    expect(handle({ _tag: "Rename", value: { oldPath: "/etc/hostname", newPath: "/../stolen" } })).toEqual(
      failed("Rename", "NotFound", null)
    )
    expect(fs.readdirSync(outside).toSorted()).toEqual(["root", "secret"])
  })

  it("is not followed out of by a link that is created through", () => {
    fs.symlinkSync(`${outside}/created`, `${root}/dangling`)
    expect(open("/dangling")).toEqual(failed("Open", "NotFound", 2))
    expect(fs.existsSync(`${outside}/created`)).toBe(false)
  })

  it("cannot be removed or renamed", () => {
    fs.rmSync(`${root}/etc`, { recursive: true })
    expect(handle({ _tag: "RemoveDir", value: { pathname: "/" } })).toEqual(failed("RemoveDir", "ResourceBusy", 16))
    expect(handle({ _tag: "Rename", value: { oldPath: "/", newPath: "/x" } })).toEqual(
      failed("Rename", "ResourceBusy", 16)
    )
    expect(handle({ _tag: "MakeDir", value: { pathname: "/", mode: 0o755 } })).toEqual(
      failed("MakeDir", "AlreadyExists", 17)
    )
    expect(fs.existsSync(root)).toBe(true)
  })
})

describe("what goes beyond the real agent", () => {
  it("removes relative to a directory", () => {
    fs.mkdirSync(`${root}/etc/sub`)
    open("/etc", { ...options, write: false, create: false })
    const remove = (pathname: string, flags: number) =>
      handle({ _tag: "UnlinkAt", value: { dirfd: 0n, pathname, flags } })
    expect(remove("sub", 0)).toEqual(failed("Unlink", "IsADirectory", 21))
    expect(remove("sub", 512)).toMatchObject({ response: { value: { _tag: "Ok" } } })
    expect(remove("hostname", 0)).toMatchObject({ response: { value: { _tag: "Ok" } } })
    expect(fs.readdirSync(`${root}/etc`)).toEqual([])
  })

  it("sets given times, keeps omitted ones, knows now", () => {
    open("/etc/hostname")
    const touch = (access: readonly [bigint, bigint], modification: readonly [bigint, bigint]) =>
      handle({
        _tag: "Futimens",
        value: {
          fd: 0n,
          times: [
            { tvSec: access[0], tvNsec: access[1] },
            { tvSec: modification[0], tvNsec: modification[1] }
          ]
        }
      })
    expect(touch([100n, 0n], [200n, 500_000_000n])).toMatchObject({ response: { value: { _tag: "Ok" } } })
    expect(fs.statSync(`${root}/etc/hostname`)).toMatchObject({ atimeMs: 100_000, mtimeMs: 200_500 })
    expect(touch([0n, 0x3ffffffen], [0n, 0x3fffffffn])).toMatchObject({ response: { value: { _tag: "Ok" } } })
    expect(fs.statSync(`${root}/etc/hostname`)).toMatchObject({ atimeMs: 100_000, mtimeMs: 1_000_000_000 })
  })

  it("does not block on a FIFO", async () => {
    const { execFileSync } = await import("node:child_process")
    execFileSync("mkfifo", [`${root}/pipe`])
    expect(open("/pipe", { ...options, write: false, create: false })).toEqual(opened(0n))
    expect(handle({ _tag: "Seek", value: { fd: 0n, seekFrom: { _tag: "Start", value: 0n } } })).toEqual(
      failed("Seek", "NotSeekable", 29)
    )
  })
})

it("reads more than one answer holds in several", () => {
  fs.writeFileSync(`${root}/big`, Buffer.alloc(40 * 1024 * 1024))
  open("/big", { ...options, create: false })
  const sizes: Array<bigint> = []
  for (let size = 1n; size > 0n;) {
    const answer = handle({ _tag: "Read", value: { remoteFd: 0n, bufferSize: 1n << 40n } })
    if (answer._tag !== "Answer" || answer.response._tag !== "Read" || answer.response.value._tag !== "Ok")
      return expect.fail("no data")
    size = answer.response.value.value.readAmount
    sizes.push(size)
  }
  expect(sizes).toEqual([32n * 1024n * 1024n, 8n * 1024n * 1024n, 0n])
})

it("closes what was left open", () => {
  const before = fs.readdirSync("/proc/self/fd").length
  for (let i = 0; i < 5; i++) open("/etc/hostname")
  files.close()
  expect(fs.readdirSync("/proc/self/fd").length).toBe(before)
})
