import type { ClientMessage } from "../../../../src/domain/protocol/client-message.ts"
import type { FileRequest } from "../../../../src/domain/protocol/file-messages.ts"
import type { HttpFilter } from "../../../../src/domain/protocol/http-filter-messages.ts"
import { atLeast } from "../../../../src/domain/protocol/version.ts"

/** Taken from wire.md §5.2 and not from the router's table: the two must agree on their own. */
const filters: Readonly<Record<HttpFilter["_tag"], string | undefined>> = {
  Header: undefined,
  Path: undefined,
  Composite: "1.11.0",
  Method: "1.20.0",
  Body: "1.23.0",
  HeaderJq: "1.26.0"
}
const files: Readonly<Partial<Record<FileRequest["_tag"], string>>> = {
  ReadLink: "1.6.0",
  ReadDirBatch: "1.9.0",
  MakeDir: "1.13.0",
  MakeDirAt: "1.13.0",
  RemoveDir: "1.14.0",
  Unlink: "1.14.0",
  UnlinkAt: "1.14.0",
  StatFs: "1.16.0",
  StatFsV2: "1.18.0",
  XstatFsV2: "1.18.0",
  Rename: "1.21.0",
  Ftruncate: "1.24.0",
  Futimens: "1.24.0",
  Fchown: "1.24.0",
  Fchmod: "1.24.0"
}

const needs = (message: ClientMessage): ReadonlyArray<string | undefined> => {
  switch (message._tag) {
    case "ReadyForLogs":
      return ["1.3.1"]
    case "Vpn":
      return ["1.10.0"]
    case "GetAddrInfoRequestV2":
      return ["1.15.0"]
    case "OperatorPong":
      return ["1.19.8"]
    case "ReverseDnsLookup":
      return ["1.25.0"]
    case "SeqpacketOutgoing":
      return ["1.27.0"]
    case "ShareLink":
      return ["1.29.0"]
    case "FileRequest":
      return [files[message.value._tag]]
    case "TcpOutgoing":
    case "UdpOutgoing":
      return [message.value._tag === "ConnectV2" ? "1.22.0" : undefined]
    case "Tcp":
      return message.value._tag === "PortSubscribeFilteredHttp" ? ["1.21.1", ...filterNeeds(message.value.filter)] : []
    case "TcpSteal":
      switch (message.value._tag) {
        case "HttpResponseFramed":
          return ["1.3.0"]
        case "HttpResponseChunked":
          return ["1.8.1"]
        case "PortSubscribe":
          return message.value.value._tag === "FilteredHttpEx" ? filterNeeds(message.value.value.filter) : []
        default:
          return []
      }
    default:
      return []
  }
}

const filterNeeds = (filter: HttpFilter): ReadonlyArray<string | undefined> =>
  filter._tag === "Composite" ? [filters.Composite, ...filter.filters.flatMap(filterNeeds)] : [filters[filter._tag]]

/**
 * Whether an agent of this version cannot decode the message, which ends its connection without a word (wire.md §5.6).
 */
export const tooNew = (message: ClientMessage, version: string): boolean =>
  needs(message).some((least) => least !== undefined && !atLeast(version, least))
