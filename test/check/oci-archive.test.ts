import { createHash } from "node:crypto"
import { gunzipSync } from "node:zlib"
import { parseTar } from "nanotar"
import { describe, expect, it } from "vitest"
import { ociArchive } from "../../scripts/image/oci-archive.mjs"

const text = (value: string): Uint8Array => Buffer.from(value)
const created = Date.UTC(2026, 0, 2) / 1_000
const imageOf = (architectures: ReadonlyArray<string>, entries = [{ path: "app/b", mode: 0o644, data: text("b") }]) =>
  ociArchive({
    name: "registry.example.com/braid:1.2.3",
    created,
    labels: { "org.opencontainers.image.version": "1.2.3" },
    platforms: architectures.map((architecture) => ({
      architecture,
      layers: [{ comment: "all", entries }],
      config: { User: "65532:65532", Entrypoint: ["/app/b"] }
    }))
  })

/** The files of a tar, whose library wants a buffer of its own. */
const filesOf = (tar: Uint8Array) => parseTar(new Uint8Array(tar))

/** An archive as a loader sees it: each file by its path, and each document by its descriptor. */
const open = (archive: Uint8Array) => {
  const files = new Map(filesOf(archive).map((file) => [file.name, file.data ?? new Uint8Array()]))
  const bytes = (path: string): Uint8Array => files.get(path) ?? expect.fail(`the archive has no ${path}`)
  const json = (path: string) => JSON.parse(Buffer.from(bytes(path)).toString()) as never
  return { bytes, json, paths: [...files.keys()], blob: (digest: string) => `blobs/${digest.replace(":", "/")}` }
}
interface Described {
  readonly digest: string
  readonly size: number
}
interface Index {
  readonly manifests: ReadonlyArray<
    Described & { readonly annotations?: object; readonly platform?: { readonly architecture: string } }
  >
}
interface Manifest {
  readonly config: Described
  readonly layers: ReadonlyArray<Described>
}

describe("the archive of an image", () => {
  it("leads from the index over each platform to its layers, by digests and sizes that are right", () => {
    const { archive, digest } = imageOf(["amd64", "arm64"])
    const { blob, bytes, json } = open(archive)
    const [top] = (json("index.json") as Index).manifests
    expect(top).toMatchObject({
      digest,
      annotations: {
        "io.containerd.image.name": "registry.example.com/braid:1.2.3",
        "org.opencontainers.image.ref.name": "1.2.3"
      }
    })
    const { manifests } = json(blob(digest)) as Index
    expect(manifests.map(({ platform }) => platform)).toEqual([
      { os: "linux", architecture: "amd64" },
      { os: "linux", architecture: "arm64" }
    ])
    for (const listed of manifests) {
      const { config, layers } = json(blob(listed.digest)) as Manifest
      for (const { digest: named, size } of [listed, config, ...layers]) {
        expect(
          `sha256:${createHash("sha256")
            .update(bytes(blob(named)))
            .digest("hex")}`
        ).toBe(named)
        expect(bytes(blob(named)).length).toBe(size)
      }
      const tar = gunzipSync(bytes(blob(layers[0]?.digest ?? "")))
      expect(json(blob(config.digest))).toMatchObject({
        architecture: listed.platform?.architecture,
        created: "2026-01-02T00:00:00Z",
        config: { User: "65532:65532", Labels: { "org.opencontainers.image.version": "1.2.3" } },
        rootfs: { diff_ids: [`sha256:${createHash("sha256").update(tar).digest("hex")}`] }
      })
    }
  })

  it("has what Docker looks for, of the first platform", () => {
    const { blob, json, paths } = open(imageOf(["arm64", "amd64"]).archive)
    const [docker] = json("manifest.json") as ReadonlyArray<{
      readonly Config: string
      readonly Layers: ReadonlyArray<string>
      readonly RepoTags: ReadonlyArray<string>
    }>
    expect(docker?.RepoTags).toEqual(["registry.example.com/braid:1.2.3"])
    expect(json(docker?.Config ?? "")).toMatchObject({ architecture: "arm64" })
    expect(paths).toEqual(expect.arrayContaining([...(docker?.Layers ?? [])]))
    expect(blob("sha256:12")).toBe("blobs/sha256/12")
  })

  it("is the same for the same files in any order, and another for another mode or text", () => {
    const [one, other] = [
      { path: "app/b", mode: 0o644, data: text("b") },
      { path: "app/a", mode: 0o755, data: text("a") }
    ] as const
    const digestOf = (...entries: ReadonlyArray<{ path: string; mode: number; data: Uint8Array }>) =>
      imageOf(["amd64"], [...entries]).digest
    expect(digestOf(one, other)).toBe(digestOf(other, one))
    const all = [
      digestOf(one),
      digestOf(other),
      digestOf({ ...one, mode: 0o600 }),
      digestOf({ ...one, data: text("c") })
    ]
    expect(new Set(all).size).toBe(all.length)
  })

  it("belongs to root, has each folder before its files, and ends as a tar even if its last record is full", () => {
    // 17 blocks of content, its header and two folders fill the 20 blocks of a record.
    const { archive } = imageOf(["amd64"], [{ path: "opt/x/full", mode: 0o4755, data: new Uint8Array(17 * 512) }])
    const { blob, bytes, json } = open(archive)
    const [listed] = (json(blob((json("index.json") as Index).manifests[0]?.digest ?? "")) as Index).manifests
    const layer = (json(blob(listed?.digest ?? "")) as Manifest).layers[0]?.digest ?? ""
    const tar = gunzipSync(bytes(blob(layer)))
    expect(filesOf(tar).map(({ attrs, name, type }) => [name, type, attrs?.mode, attrs?.uid, attrs?.gid])).toEqual([
      ["opt/", "directory", "0000755", 0, 0],
      ["opt/x/", "directory", "0000755", 0, 0],
      ["opt/x/full", "file", "0004755", 0, 0]
    ])
    expect(tar.subarray(-1_024).every((byte) => byte === 0)).toBe(true)
  })

  it("refuses a path that a layer's header cannot hold", () => {
    const path = `app/${"x".repeat(96)}`
    expect(() => imageOf(["amd64"], [{ path, mode: 0o644, data: text("") }])).toThrow(
      `${path} is longer than 98 bytes, which a layer's header cannot hold`
    )
  })
})
