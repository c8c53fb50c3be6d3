/**
 * Starts and stops the programs of a real Kubernetes control plane on this machine: etcd, kube-apiserver,
 * kube-controller-manager. Nodes and pods are not started here (`real-cluster.ts`).
 */

import { type ChildProcess, execFile } from "node:child_process"
import { generateKeyPairSync } from "node:crypto"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { promisify } from "node:util"
import { type CertificateAuthority, createAuthority } from "../../cluster/http/pki.ts"
import { kubeconfigYaml } from "../../cluster/kubeconfig.ts"
import { freePorts } from "../free-ports.ts"
import { type Command, startProgram } from "../started-program.ts"
import type { Programs } from "./programs.ts"

/** The issuer and audience of a cluster's service account tokens. */
export const tokenIssuer = "https://kubernetes.default.svc"
/** Files of a control plane's directory, for its programs. */
export const files = {
  accountKey: "service-accounts.key",
  frontProxyCa: "front-proxy-ca.crt",
  frontProxyClient: "front-proxy-client"
} as const

/** A client certificate. */
export interface ClientCertificate {
  readonly cert: string
  readonly key: string
}

/** A control plane that runs. Nothing runs pods. */
export interface ControlPlane {
  /** `https://127.0.0.1:<port>`, the same after a restart. */
  readonly server: string
  readonly caPem: string
  /** Certificate and kubeconfig of `kubernetes-admin` in `system:masters`. */
  readonly admin: ClientCertificate
  readonly kubeconfigPath: string
  readonly directory: string
  readonly credentialsFor: (user: string, groups: ReadonlyArray<string>) => Promise<ClientCertificate>
  /** Issues the certificate of a server at an address, which clients of the cluster trust. */
  readonly servingCertificate: (name: string, address: string) => Promise<ClientCertificate>
  readonly etcdUrl: string
  /** File to which each request of a person or of a pod is written, one JSON line each; only with `audit`. */
  readonly auditLog: string
  /** Stops the API server as by SIGKILL, and the controllers, which end without a server; etcd keeps running. */
  readonly stop: () => Promise<void>
  /** Starts the API server and the controllers again and waits until both are ready. */
  readonly restart: () => Promise<void>
  /** `kubectl apply` of many YAML documents; custom resources that they define are served when this is done. */
  readonly apply: (yaml: string) => Promise<void>
  readonly tokenOf: (namespace: string, serviceAccount: string) => Promise<string>
  readonly close: () => Promise<void>
}

export interface ControlPlaneOptions {
  readonly name: string
  readonly programs: Programs
  /** Address range of the cluster's Services; clusters whose Services are served need different ranges. */
  readonly serviceRange?: string
  /** Whether pods get a token of their service account, which must then exist before them. */
  readonly serviceAccounts?: boolean
  readonly audit?: boolean
  /** More flags of kube-apiserver. */
  readonly apiServerFlags?: ReadonlyArray<string>
  /** The network in which the programs run; this machine's unless given. */
  readonly network?: PlaneNetwork
}

/** A network of its own, as a control plane needs it. */
export interface PlaneNetwork {
  /** A real node's address, at which pods and other clusters reach the API server; `undefined` without one. */
  readonly address?: string
  /** A command that runs in the network. */
  readonly inNetwork: (command: Command) => Command
  /** Lets a port of 127.0.0.1 on this machine lead to the same port in the network. */
  readonly forward: (port: number) => Promise<void>
}

/** The address range of Services, and two addresses of it: the API server's and that of the cluster's DNS. */
export const nodeServices = { range: "10.96.0.0/16", apiServer: "10.96.0.1", dns: "10.96.0.10" } as const

/** One program of the control plane. Its output goes to a file; it dies with this process at the latest. */
class Program {
  readonly #name: string
  readonly #command: Command
  readonly log: string
  #child: ChildProcess | undefined

  constructor(
    name: "etcd" | "kube-apiserver" | "kube-controller-manager",
    { directory, options: { network, programs } }: Pick<Setup, "directory" | "options">,
    args: ReadonlyArray<string>
  ) {
    const command = [programs[name], ...args] as const
    this.#name = name
    this.#command = network?.inNetwork(command) ?? command
    this.log = join(directory, `${name}.log`)
  }

  start(): void {
    const child = startProgram(this.#command, this.log)
    for (const end of ["exit", "error"])
      child.on(end, () => {
        if (this.#child === child) this.#child = undefined
      })
    this.#child = child
  }

  get isRunning(): boolean {
    return this.#child !== undefined
  }

  /** Resolves when the process has really ended, because its ports are taken until then. */
  async stop(): Promise<void> {
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

  /** Waits until `isReady` says yes, however long a loaded machine takes. Fails if the program ends before. */
  async until(isReady: () => Promise<boolean>): Promise<void> {
    while (!(await isReady().catch(() => false))) {
      if (!this.isRunning) throw await this.failure("ended at its start")
      await delay(100)
    }
  }
}

/** The answer of an API server to a caller with a certificate. */
const ask = (
  server: string,
  caPem: string,
  { cert, key }: ClientCertificate,
  path: string
): Promise<{ readonly code: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const asked = request(
      new URL(path, server),
      { ca: caPem, cert, key, agent: false, headers: { accept: "application/json" } },
      (answer) => {
        let text = ""
        answer.setEncoding("utf8").on("data", (part: string) => {
          text += part
        })
        answer.on("end", () => resolve({ code: answer.statusCode ?? 0, text })).on("error", reject)
      }
    )
    asked.setTimeout(30_000, () => asked.destroy(new Error(`no answer to ${path}`)))
    asked.on("error", reject).end()
  })

interface DefinitionList {
  readonly items: ReadonlyArray<{
    readonly status?: { readonly conditions?: ReadonlyArray<{ readonly type: string; readonly status: string }> }
  }>
}

/**
 * Whether all definitions of a list are served. `kubectl wait` would ask for them one after the other, five per second.
 */
const areEstablished = (list: string): boolean =>
  (JSON.parse(list) as DefinitionList).items.every(({ status }) =>
    status?.conditions?.some(({ type, status: state }) => type === "Established" && state === "True")
  )

/** Users of the cluster's own programs; their requests are not logged. */
const ownUsers = ["kubernetes-admin", "system:apiserver", "system:kube-controller-manager"]

const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    { level: "None", users: ownUsers },
    { level: "None", userGroups: ["system:serviceaccounts:kube-system"] },
    { level: "Metadata" }
  ]
}

/** The files of a control plane's certificates and keys, and what is signed with them. */
const writeIdentities = async (directory: string, { network }: ControlPlaneOptions) => {
  const now = (): number => Date.now()
  const [authority, frontProxy] = await Promise.all([
    createAuthority("kubernetes", now),
    createAuthority("front-proxy", now)
  ])
  const write = async (file: string, content: string): Promise<string> => {
    const path = join(directory, file)
    await writeFile(path, content, { mode: 0o600 })
    return path
  }
  const pair = async (
    file: string,
    issuer: CertificateAuthority,
    request: Parameters<CertificateAuthority["issue"]>[0]
  ) => {
    const { certPem, keyPem } = await issuer.issue(request)
    return { certPem, keyPem, cert: await write(`${file}.crt`, certPem), key: await write(`${file}.key`, keyPem) }
  }
  const accountKeys = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" }
  })
  const names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
  const node = network?.address
  const addresses = ["127.0.0.1", ...(node === undefined ? [] : [node, nodeServices.apiServer])]
  return {
    authority,
    write,
    ca: await write("ca.crt", authority.caPem),
    frontProxyCa: await write(files.frontProxyCa, frontProxy.caPem),
    serving: await pair("apiserver", authority, {
      commonName: "kube-apiserver",
      sans: [
        ...addresses.map((value) => ({ type: "ip", value }) as const),
        ...names.map((value) => ({ type: "dns", value }) as const)
      ]
    }),
    proxy: await pair(files.frontProxyClient, frontProxy, { commonName: "front-proxy-client" }),
    kubeletClient: await pair("kubelet-client", authority, {
      commonName: "kube-apiserver-kubelet-client",
      organizations: ["system:masters"]
    }),
    admin: await pair("admin", authority, { commonName: "kubernetes-admin", organizations: ["system:masters"] }),
    accountKey: await write(files.accountKey, accountKeys.privateKey),
    accountPublicKey: await write("service-accounts.pub", accountKeys.publicKey)
  }
}

type Identities = Awaited<ReturnType<typeof writeIdentities>>

/** The settings of the programs of one control plane. */
interface Setup {
  readonly options: ControlPlaneOptions
  readonly directory: string
  readonly identities: Identities
  readonly ports: { readonly server: number; readonly etcd: number; readonly peer: number; readonly manager: number }
  readonly server: string
  readonly etcdUrl: string
  readonly kubeconfigPath: string
  readonly auditLog: string
}

const setUp = async (options: ControlPlaneOptions): Promise<Setup> => {
  const { name } = options
  const directory = await mkdtemp(join(tmpdir(), `braid-kubernetes-${name}-`))
  const identities = await writeIdentities(directory, options)
  const [port = 0, etcd = 0, peer = 0, manager = 0] = await freePorts(4)
  const server = `https://127.0.0.1:${port}`
  const { admin: credentials, authority, write } = identities
  const kubeconfigPath = await write(
    "admin.kubeconfig",
    kubeconfigYaml({ cluster: name, server, caPem: authority.caPem, user: "kubernetes-admin", credentials })
  )
  const auditLog = join(directory, "audit.log")
  const etcdUrl = `http://127.0.0.1:${etcd}`
  const ports = { server: port, etcd, peer, manager }
  return { options, directory, identities, ports, server, etcdUrl, kubeconfigPath, auditLog }
}

const makeEtcd = ({ directory, etcdUrl, options, ports }: Setup): Program =>
  new Program("etcd", { directory, options }, [
    `--data-dir=${join(directory, "etcd")}`,
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    `--listen-peer-urls=http://127.0.0.1:${ports.peer}`,
    "--unsafe-no-fsync"
  ])

/** Flags of an API server without a real node. */
const withoutNode: ReadonlyArray<string> = [
  "--bind-address=127.0.0.1",
  // An address for documentation (RFC 5737), which is never dialled: a machine without a network has none of its own.
  "--advertise-address=192.0.2.1",
  "--authorization-mode=RBAC"
]

/** Flags of an API server beside a real node. */
const withNode = ({ identities }: Setup, address: string): ReadonlyArray<string> => [
  "--bind-address=0.0.0.0",
  `--advertise-address=${address}`,
  "--authorization-mode=Node,RBAC",
  "--enable-admission-plugins=NodeRestriction",
  `--kubelet-client-certificate=${identities.kubeletClient.cert}`,
  `--kubelet-client-key=${identities.kubeletClient.key}`,
  `--kubelet-certificate-authority=${identities.ca}`,
  "--kubelet-preferred-address-types=InternalIP"
]

const makeApiServer = async (setup: Setup): Promise<Program> => {
  const { auditLog, etcdUrl, identities, options, ports } = setup
  const { apiServerFlags = [], audit = false, network, serviceAccounts = false } = options
  const node = network?.address
  const { serviceRange = node === undefined ? "127.96.0.0/16" : nodeServices.range } = options
  const { ca, proxy, serving } = identities
  const policy = await identities.write("audit-policy.yaml", JSON.stringify(auditPolicy))
  return new Program("kube-apiserver", setup, [
    `--etcd-servers=${etcdUrl}`,
    ...(node === undefined ? withoutNode : withNode(setup, node)),
    `--secure-port=${ports.server}`,
    `--tls-cert-file=${serving.cert}`,
    `--tls-private-key-file=${serving.key}`,
    `--client-ca-file=${ca}`,
    "--allow-privileged",
    // Without the plugin, pods may come before their namespace's service account, as on the embedded cluster.
    ...(serviceAccounts ? [] : ["--disable-admission-plugins=ServiceAccount"]),
    ...(audit ? [`--audit-policy-file=${policy}`, `--audit-log-path=${auditLog}`] : []),
    `--service-cluster-ip-range=${serviceRange}`,
    `--service-account-issuer=${tokenIssuer}`,
    `--service-account-key-file=${identities.accountPublicKey}`,
    `--service-account-signing-key-file=${identities.accountKey}`,
    `--requestheader-client-ca-file=${identities.frontProxyCa}`,
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-uid-headers=X-Remote-Uid",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    `--proxy-client-cert-file=${proxy.cert}`,
    `--proxy-client-key-file=${proxy.key}`,
    ...apiServerFlags
  ])
}

const makeManager = ({ directory, identities, kubeconfigPath, options, ports }: Setup): Program =>
  new Program("kube-controller-manager", { directory, options }, [
    `--kubeconfig=${kubeconfigPath}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${ports.manager}`,
    `--tls-cert-file=${identities.serving.cert}`,
    `--tls-private-key-file=${identities.serving.key}`,
    "--leader-elect=false",
    ...(options.network?.address === undefined
      ? // The stand-in kubelet sends no heartbeats.
        ["--controllers=*,-node-lifecycle-controller,-taint-eviction-controller"]
      : // A node is away after three reports of its kubelet are missing.
        ["--use-service-account-credentials", "--node-monitor-period=2s", "--node-monitor-grace-period=16s"]),
    `--root-ca-file=${identities.ca}`,
    `--service-account-private-key-file=${identities.accountKey}`
  ])

/** The programs of one control plane. */
class PlanePrograms {
  readonly apiServer: Program
  readonly admin: ClientCertificate
  readonly #setup: Setup
  readonly #etcd: Program
  readonly #manager: Program

  constructor(setup: Setup, apiServer: Program) {
    const { certPem: cert, keyPem: key } = setup.identities.admin
    this.#setup = setup
    this.admin = { cert, key }
    this.#etcd = makeEtcd(setup)
    this.apiServer = apiServer
    this.#manager = makeManager(setup)
  }

  /** The API server's answer to the administrator. */
  ask(path: string, server = this.#setup.server): ReturnType<typeof ask> {
    return ask(server, this.#setup.identities.authority.caPem, this.admin, path)
  }

  async start(): Promise<void> {
    const { etcdUrl, options, ports } = this.#setup
    for (const port of [ports.server, ports.etcd, ports.manager]) await options.network?.forward(port)
    this.#etcd.start()
    await this.#etcd.until(async () => (await fetch(`${etcdUrl}/readyz`)).ok)
    await this.#startServers()
    await this.#manager.until(
      async () => (await this.ask("/api/v1/namespaces/default/serviceaccounts/default")).code === 200
    )
  }

  async #startServers(): Promise<void> {
    this.apiServer.start()
    await this.apiServer.until(async () => (await this.ask("/readyz")).text === "ok")
    const manager = `https://127.0.0.1:${this.#setup.ports.manager}`
    this.#manager.start()
    await this.#manager.until(async () => (await this.ask("/healthz", manager)).text === "ok")
  }

  /**
   * Controllers without a server would ask again ever more rarely, and so make no pod for the first minute of the next
   * server. With several replicas they lose their lease and end instead, as here.
   */
  async stop(): Promise<void> {
    await Promise.all([this.#manager.stop(), this.apiServer.stop()])
  }

  async restart(): Promise<void> {
    await this.stop()
    await this.#startServers()
  }

  async close(): Promise<void> {
    await Promise.all([this.stop(), this.#etcd.stop()])
    await rm(this.#setup.directory, { recursive: true, force: true })
  }
}

const kubectl = async (setup: Setup, args: ReadonlyArray<string>, input = ""): Promise<string> => {
  // Otherwise what a server of an earlier cluster at the same port serves would be taken for what this one does.
  const env = { ...process.env, KUBECACHEDIR: join(setup.directory, "kube-cache") }
  const words = [`--kubeconfig=${setup.kubeconfigPath}`, ...args]
  const running = promisify(execFile)(setup.options.programs.kubectl, words, { env })
  running.child.stdin?.end(input)
  return (await running).stdout
}

/** Starts a control plane and waits until it is ready, default service accounts included. */
export const startControlPlane = async (options: ControlPlaneOptions): Promise<ControlPlane> => {
  const setup = await setUp(options)
  const { authority } = setup.identities
  const programs = new PlanePrograms(setup, await makeApiServer(setup))
  try {
    await programs.start()
  } catch (error) {
    await programs.close()
    throw error
  }
  return {
    server: setup.server,
    caPem: authority.caPem,
    admin: programs.admin,
    kubeconfigPath: setup.kubeconfigPath,
    directory: setup.directory,
    etcdUrl: setup.etcdUrl,
    auditLog: setup.auditLog,
    credentialsFor: async (commonName, organizations) => {
      const { certPem, keyPem } = await authority.issue({ commonName, organizations })
      return { cert: certPem, key: keyPem }
    },
    servingCertificate: async (commonName, address) => {
      const { certPem, keyPem } = await authority.issue({ commonName, sans: [{ type: "ip", value: address }] })
      return { cert: certPem, key: keyPem }
    },
    stop: () => programs.stop(),
    restart: () => programs.restart(),
    apply: async (yaml) => {
      await kubectl(setup, ["apply", "--server-side", "-f", "-"], yaml)
      await programs.apiServer.until(async () =>
        areEstablished((await programs.ask("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")).text)
      )
    },
    tokenOf: async (namespace, account) =>
      (await kubectl(setup, ["create", "token", account, "--namespace", namespace])).trim(),
    close: () => programs.close()
  }
}
