import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Redacted, Scope } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { type Claim, claim, holder } from "../../../../src/app/commands/ui/single-instance.ts"

let folder: string
let scope: Scope.Closeable
beforeEach(async () => {
  folder = join(mkdtempSync(join(tmpdir(), "mirrord-")), ".mirrord")
  scope = await Effect.runPromise(Scope.make())
})
afterEach(async () => {
  await end()
  rmSync(folder, { recursive: true, force: true })
})

const end = (): Promise<void> => Effect.runPromise(Scope.close(scope, Exit.void))
const take = (token = "the-token"): Promise<Claim> =>
  Effect.runPromise(Effect.provideService(claim(folder, Redacted.make(token)), Scope.Scope, scope))
const text = (file: string): string => readFileSync(join(folder, file), "utf8")
const put = (file: string, content: string): void => writeFileSync(join(folder, file), content)

describe("the one aggregator of a person", () => {
  it("has mirrord's files as long as it runs, readable by the person alone", async () => {
    const claimed = await take()
    if (claimed._tag !== "Claimed") throw new Error(claimed._tag)
    claimed.publish("http://127.0.0.1:1/link", ["--context", "a"])
    expect([text("token"), text("server_pid")]).toEqual(["the-token", `${process.pid}`])
    expect(["token", "server_pid", "braid-ui.json"].map((file) => statSync(join(folder, file)).mode & 0o777)).toEqual([
      0o600, 0o600, 0o600
    ])
    expect(holder(folder)).toEqual({ pid: process.pid, link: "http://127.0.0.1:1/link", flags: ["--context", "a"] })
    await end()
    expect(readdirSync(folder)).toEqual(["ui.lock"])
    expect(holder(folder)).toBeUndefined()
  })

  it("leaves the files of one that runs as they are, ours or mirrord's own", async () => {
    await take()
    // As mirrord's own has them: it knows no third file.
    put("server_pid", "4711")
    put("token", "mirrord's")
    put("braid-ui.json", JSON.stringify({ pid: 12, link: "of a killed braid" }))
    expect(await take("another")).toEqual({ _tag: "Held", by: { pid: 4_711, link: undefined, flags: [] } })
    expect(holder(folder)).toEqual({ pid: 4_711, link: undefined, flags: [] })
    expect([text("token"), text("server_pid")]).toEqual(["mirrord's", "4711"])
    rmSync(join(folder, "server_pid"))
    expect(holder(folder)).toBe("unknown")
  })

  it("is none where no file can be made", async () => {
    writeFileSync(folder, "")
    expect([(await take())._tag, holder(folder)]).toEqual(["Impossible", "impossible"])
    rmSync(folder)
    mkdirSync(join(folder, "token", "full"), { recursive: true })
    expect((await take())._tag).toBe("Impossible")
    // The lock is free again.
    rmSync(join(folder, "token"), { recursive: true })
    expect((await take())._tag).toBe("Claimed")
  })

  it("takes over from a killed one, whose files are removed", async () => {
    await take()
    await end()
    put("token", "old")
    put("server_pid", "4711")
    expect(holder(folder)).toBeUndefined()
    expect(existsSync(join(folder, "token"))).toBe(false)
    scope = await Effect.runPromise(Scope.make())
    expect((await take())._tag).toBe("Claimed")
  })
})
