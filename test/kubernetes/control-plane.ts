import { type ChildProcess, execFile, spawn } from "node:child_process"
import { createWriteStream } from "node:fs"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { createServer, type Server } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { setTimeout as delay } from "node:timers/promises"
import { generateKeyPairSync } from "node:crypto"
import { kubeconfigYaml } from "../../src/adapters/embedded/kubeconfig.ts"
import { type CertificateAuthority, createAuthority } from "../../src/adapters/embedded/pki.ts"
import { ApiClient, type Credentials } from "../adapters/embedded/api-client.ts"

/** A real etcd, kube-apiserver and kube-controller-manager on this machine. Nothing runs pods. */
export interface ControlPlane {
  /** `https://127.0.0.1:<port>`, the same over restarts. */
  readonly server: string
  readonly caPem: string
  /** Certificate and kubeconfig of `kubernetes-admin` in `system:masters`. */
  readonly admin: Credentials
  readonly kubeconfigPath: string
  readonly directory: string
  readonly credentialsFor: (user: string, groups: ReadonlyArray<string>) => Promise<Credentials>
  /** Stops the API server as by SIGKILL; its etcd goes on. */
  readonly stop: () => Promise<void>
  /** Starts the API server again and waits until it is ready. */
  readonly restart: () => Promise<void>
  /** Makes every older resourceVersion too old: compacts etcd, and restarts the API server, whose watch cache remembers longer. */
  readonly forgetHistory: () => Promise<void>
  /** `kubectl apply` of many YAML documents; definitions among them are served afterwards. */
  readonly apply: (yaml: string) => Promise<void>
  readonly tokenOf: (namespace: string, serviceAccount: string) => Promise<string>
  readonly close: () => Promise<void>
}

export interface ControlPlaneOptions {
  readonly name: string
  /** Folder of the programs, as `npm run kubernetes` prints it. */
  readonly assets: string
  /** Of a cluster's Services; each cluster needs its own. */
  readonly serviceRange?: string
}

/** Ports that are free now, each another one. */
const freePorts = async (count: number): Promise<ReadonlyArray<number>> => {
  const servers = Array.from({ length: count }, () => createServer())
  const listening = (server: Server): Promise<number> =>
    new Promise((resolve, reject) => {
      server.once("error", reject)
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resolve(typeof address === "object" && address !== null ? address.port : 0)
      })
    })
  const ports = await Promise.all(servers.map(listening))
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

/** One program of the control plane. Its output goes to a file; it dies with this process at the latest. */
class Program {
  readonly #name: string
  readonly #file: string
  readonly #args: ReadonlyArray<string>
  readonly log: string
  #child: ChildProcess | undefined

  constructor(name: string, assets: string, directory: string, args: ReadonlyArray<string>) {
    this.#name = name
    this.#file = join(assets, name)
    this.#args = args
    this.log = join(directory, `${name}.log`)
  }

  readonly #killed = (): void => void this.#child?.kill("SIGKILL")

  start(): void {
    const output = createWriteStream(this.log, { flags: "a" })
    const child = spawn(this.#file, this.#args, { stdio: ["ignore", "pipe", "pipe"] })
    child.on("error", (error) => output.write(`${this.#file} cannot be started: ${error.message}\n`))
    for (const stream of [child.stdout, child.stderr]) stream.pipe(output, { end: false })
    child.on("exit", () => {
      if (this.#child === child) this.#child = undefined
      output.end()
    })
    this.#child = child
    process.once("exit", this.#killed)
  }

  get isRunning(): boolean {
    return this.#child !== undefined
  }

  /** Resolves when the process has really ended: until then its ports are taken. */
  async stop(): Promise<void> {
    process.off("exit", this.#killed)
    const child = this.#child
    if (child === undefined) return
    const ended = new Promise((resolve) => child.once("exit", resolve))
    child.kill("SIGKILL")
    await ended
  }

  async failure(what: string): Promise<Error> {
    const lines = (await readFile(this.log, "utf8").catch(() => "")).trimEnd().split("\n")
    return new Error(`${this.#name} ${what}; the end of ${this.log}:\n${lines.slice(-20).join("\n")}`)
  }

  /** Waits until a look says yes. Fails when the program ends before, or after two minutes. */
  async until(look: () => Promise<boolean>): Promise<void> {
    for (let attempt = 0; !(await look().catch(() => false)); attempt++) {
      if (!this.isRunning) throw await this.failure("ended at its start")
      if (attempt > 1200) throw await this.failure("does not get ready")
      await delay(100)
    }
  }
}

const readyText = async (admin: ApiClient): Promise<boolean> => (await admin.get("/readyz")).text === "ok"

const isServiceAccountThere = async (admin: ApiClient): Promise<boolean> =>
  (await admin.get("/api/v1/namespaces/default/serviceaccounts/default")).code === 200

/** Starts one and waits until it is ready, default service accounts included. */
export const startControlPlane = async ({ assets, name, serviceRange = "127.96.0.0/16" }: ControlPlaneOptions): Promise<ControlPlane> => {
  const directory = await mkdtemp(join(tmpdir(), `braid-kubernetes-${name}-`))
  const now = (): number => Date.now()
  const [authority, frontProxy] = await Promise.all([createAuthority("kubernetes", now), createAuthority("front-proxy", now)])
  const [port = 0, etcdPort = 0, etcdPeerPort = 0, managerPort = 0] = await freePorts(4)
  const write = async (file: string, content: string): Promise<string> => {
    const path = join(directory, file)
    await writeFile(path, content, { mode: 0o600 })
    return path
  }
  const pair = async (file: string, of: CertificateAuthority, request: Parameters<CertificateAuthority["issue"]>[0]) => {
    const { certPem, keyPem } = await of.issue(request)
    return { certPem, keyPem, cert: await write(`${file}.crt`, certPem), key: await write(`${file}.key`, keyPem) }
  }
  const ca = await write("ca.crt", authority.caPem)
  const frontProxyCa = await write("front-proxy-ca.crt", frontProxy.caPem)
  const serving = await pair("apiserver", authority, {
    commonName: "kube-apiserver",
    sans: [
      { type: "ip", value: "127.0.0.1" },
      ...["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"].map((value) => ({ type: "dns", value }) as const)
    ]
  })
  const proxy = await pair("front-proxy-client", frontProxy, { commonName: "front-proxy-client" })
  const adminPair = await pair("admin", authority, { commonName: "kubernetes-admin", organizations: ["system:masters"] })
  const accountKeys = generateKeyPairSync("rsa", { modulusLength: 2048, publicKeyEncoding: { type: "spki", format: "pem" }, privateKeyEncoding: { type: "pkcs8", format: "pem" } })
  const accountKey = await write("service-accounts.key", accountKeys.privateKey)
  const accountPublicKey = await write("service-accounts.pub", accountKeys.publicKey)
  const server = `https://127.0.0.1:${port}`
  const kubeconfigPath = await write("admin.kubeconfig", kubeconfigYaml({ cluster: name, server, caPem: authority.caPem, user: "kubernetes-admin", credentials: adminPair }))
  const adminCredentials: Credentials = { cert: adminPair.certPem, key: adminPair.keyPem }
  const admin = new ApiClient(server, authority.caPem, adminCredentials)
  const etcdUrl = `http://127.0.0.1:${etcdPort}`

  const etcd = new Program("etcd", assets, directory, [
    `--data-dir=${join(directory, "etcd")}`,
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    `--listen-peer-urls=http://127.0.0.1:${etcdPeerPort}`,
    "--unsafe-no-fsync"
  ])
  const apiServer = new Program("kube-apiserver", assets, directory, [
    `--etcd-servers=${etcdUrl}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--tls-cert-file=${serving.cert}`,
    `--tls-private-key-file=${serving.key}`,
    `--client-ca-file=${ca}`,
    "--authorization-mode=RBAC",
    "--allow-privileged",
    // Pods may come before their namespace's service account, as on the embedded cluster.
    "--disable-admission-plugins=ServiceAccount",
    `--service-cluster-ip-range=${serviceRange}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${accountPublicKey}`,
    `--service-account-signing-key-file=${accountKey}`,
    `--requestheader-client-ca-file=${frontProxyCa}`,
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    `--proxy-client-cert-file=${proxy.cert}`,
    `--proxy-client-key-file=${proxy.key}`
  ])
  const manager = new Program("kube-controller-manager", assets, directory, [
    `--kubeconfig=${kubeconfigPath}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${managerPort}`,
    "--leader-elect=false",
    `--root-ca-file=${ca}`,
    `--service-account-private-key-file=${accountKey}`
  ])

  const close = async (): Promise<void> => {
    await Promise.all([manager.stop(), apiServer.stop(), etcd.stop()])
    await rm(directory, { recursive: true, force: true })
  }
  const startApiServer = async (): Promise<void> => {
    apiServer.start()
    await apiServer.until(() => readyText(admin))
  }
  try {
    etcd.start()
    await etcd.until(async () => (await fetch(`${etcdUrl}/readyz`)).ok)
    await startApiServer()
    manager.start()
    await manager.until(() => isServiceAccountThere(admin))
  } catch (error) {
    await close()
    throw error
  }
  const kubectl = async (args: ReadonlyArray<string>, input = ""): Promise<string> => {
    const running = promisify(execFile)(join(assets, "kubectl"), [`--kubeconfig=${kubeconfigPath}`, ...args])
    running.child.stdin?.end(input)
    return (await running).stdout
  }
  const restart = async (): Promise<void> => {
    await apiServer.stop()
    await startApiServer()
  }
  return {
    server,
    caPem: authority.caPem,
    admin: adminCredentials,
    kubeconfigPath,
    directory,
    credentialsFor: async (commonName, organizations) => {
      const { certPem, keyPem } = await authority.issue({ commonName, organizations })
      return { cert: certPem, key: keyPem }
    },
    stop: () => apiServer.stop(),
    restart,
    forgetHistory: async () => {
      const call = async (path: string, body: object): Promise<unknown> => {
        const answer = await fetch(`${etcdUrl}${path}`, { method: "POST", body: JSON.stringify(body) })
        if (!answer.ok) throw new Error(`etcd ${path}: ${answer.status} ${await answer.text()}`)
        return answer.json()
      }
      // A revision of its own, so that also the newest one before is too old.
      const { header } = (await call("/v3/kv/put", { key: "Zm9yZ2V0", value: "" })) as { readonly header: { readonly revision: string } }
      await call("/v3/kv/compaction", { revision: header.revision, physical: true })
      await restart()
    },
    apply: async (yaml) => {
      await kubectl(["apply", "--server-side", "-f", "-"], yaml)
      await kubectl(["wait", "--for=condition=Established", "customresourcedefinitions", "--all", "--timeout=60s"])
    },
    tokenOf: async (namespace, account) => (await kubectl(["create", "token", account, "--namespace", namespace])).trim(),
    close
  }
}
