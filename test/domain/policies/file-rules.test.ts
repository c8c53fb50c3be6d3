import { describe, expect, it } from "vitest"
import { keptFile, plainPath } from "../../../src/domain/policies/file-rules.ts"
import { policy } from "./policies.ts"

const policies = [
  policy({ fs: { local: ["^/home/"], notFound: ["\\.pem$"] } }, "one"),
  policy({ fs: { readOnly: ["^/var/"], notFound: ["^/home/"] } }, "two")
]
const how = (path: string | undefined, use: Parameters<typeof keptFile>[2]): string | undefined => {
  const kept = keptFile(policies, path, use)
  return kept === undefined ? undefined : `${kept.how} by ${kept.policy}`
}

describe("a file of the target", () => {
  it.each([
    ["/etc/hosts", "OpenToWrite", undefined],
    ["/home/a", "Open", "local by one"],
    ["/home/a", "Change", "local by one"],
    // Its name and size are the target's; the list that counts less says that it is not there.
    ["/home/a", "Look", "not found by two"],
    ["/app/key.pem", "Open", "not found by one"],
    ["/app/KEY.PEM", "Look", "not found by one"],
    ["/var/log", "Open", undefined],
    ["/var/log", "Look", undefined],
    ["/var/log", "OpenToWrite", "read-only by two"],
    ["/var/log", "Change", "read-only by two"],
    ["/var", "Change", undefined],
    ["/app/../var", "Move", "read-only by two"],
    ["/home", "Move", "local by one"],
    ["/app", "Move", undefined],
    ["/etc/../home/a", "Open", "local by one"],
    ["//home//./a", "Open", "local by one"],
    ["/proc/1/root/home/a", "Open", "local by one"],
    ["/proc/1/root/../home/a", "Open", "local by one"],
    ["/proc/1/task/7/root/../../home/a", "Open", "local by one"],
    ["/proc/self/task/7/root/proc/1/root/var/log", "Change", "read-only by two"],
    [`/etc/${"a".repeat(5_000)}`, "Open", "not found by one"],
    [undefined, "Open", "not found by one"]
  ] as ReadonlyArray<readonly [string | undefined, Parameters<typeof keptFile>[2], string | undefined]>)(
    "%s, %s: %s",
    (path, use, expected) => expect(how(path, use)).toBe(expected)
  )

  it("is not there where its path would keep the operator busy, and is not the user's own file", () => {
    const slow = [policy({ fs: { local: ["(a|b)*a(a|b){480}c"] } })]
    const path = Array.from({ length: 4_000 }, (_, i) => ((Math.imul(i, 2_654_435_761) >>> 30) & 1 ? "a" : "b")).join(
      ""
    )
    expect(keptFile(slow, path, "Open")?.how).toBe("not found")
  })

  it("has a plain path that stays below the root", () => {
    expect(plainPath("/../../etc/./x//y/..")).toBe("/etc/x")
    expect(plainPath("etc/x")).toBe("/etc/x")
    expect(plainPath("/proc/1/root")).toBe("/")
    expect(plainPath("/proc/1/environ")).toBe("/proc/1/environ")
  })
})
