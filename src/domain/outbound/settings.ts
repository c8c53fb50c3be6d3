/**
 * The settings of tunnels: of a primary that takes them, the cell, and of a member that dials one, the outpost. The
 * token with which a member joins is the chart's Secret `mirrord-outbound-token`.
 */

import type { SettingCard } from "../catalogue/setting.ts"

export const outboundSettings = {
  takesTunnels: {
    variable: "OPERATOR_CELL",
    form: "truth",
    default: false,
    value: "operator.cell.enabled",
    where: "primary",
    about: "whether this primary takes the tunnels of [members that dial out](../operating/outbound.md)"
  },
  cellPort: {
    variable: "OPERATOR_CELL_PORT",
    form: "port",
    default: 8443,
    value: "operator.cell.port",
    where: "cell",
    about: "port of the tunnels"
  },
  bootstrapPort: {
    variable: "OPERATOR_CELL_BOOTSTRAP_PORT",
    form: "port",
    default: 8444,
    value: "operator.cell.bootstrapPort",
    where: "cell",
    about: "port at which a member trades its token for its first certificate"
  },
  bootstrapRanges: {
    variable: "OPERATOR_CELL_BOOTSTRAP_RANGES",
    form: "ranges",
    default: [],
    value: "operator.cell.bootstrapRanges",
    where: "cell",
    about: "networks from which tokens are taken, in CIDR form, separated by commas; empty: all"
  },
  webSocketPort: {
    variable: "OPERATOR_CELL_WEBSOCKET_PORT",
    form: "port",
    value: "operator.cell.webSocketPort",
    where: "cell",
    about: "port at which WebSockets carry tunnels, for an ingress that ends TLS; there is none without it"
  },
  certificateHours: {
    variable: "OPERATOR_CELL_CERTIFICATE_HOURS",
    form: "certificateHours",
    default: 24,
    value: "operator.cell.certificateHours",
    where: "cell",
    about: "hours for which the certificate of a member is valid; it is renewed through the tunnel at two thirds"
  },
  dialsOut: {
    variable: "OPERATOR_OUTBOUND",
    form: "truth",
    default: false,
    value: "operator.outbound.enabled",
    where: "member",
    about: "whether this member [dials its primary](../operating/outbound.md), which cannot reach it"
  },
  cellAddress: {
    variable: "OPERATOR_OUTBOUND_CELL",
    form: "cellAddress",
    value: "operator.outbound.cell",
    where: "outpost",
    about: "host and port of the primary's tunnels, or the URL of a [WebSocket](../operating/outbound.md#by-websocket)"
  },
  bootstrapAddress: {
    variable: "OPERATOR_OUTBOUND_BOOTSTRAP",
    form: "cellAddress",
    value: "operator.outbound.bootstrap",
    where: "outpost",
    about: "host and port at which the primary takes the token, or the URL of a WebSocket"
  },
  cellPin: {
    variable: "OPERATOR_OUTBOUND_PIN",
    form: "text",
    value: "operator.outbound.pin",
    where: "outpost",
    about: "SHA-256 of the public key of the primary's authority for tunnels, hex, as `braid join --outbound` prints it"
  },
  peopleGroups: {
    variable: "OPERATOR_OUTBOUND_PROXY_GROUPS",
    form: "groups",
    default: [],
    value: "operator.outbound.proxy.groups",
    where: "outpost",
    about:
      "groups of the primary whose people may send requests to this cluster " +
      "[through the primary](../operating/outbound.md#requests-of-people), separated by commas; empty: nobody"
  },
  peopleExtraKeys: {
    variable: "OPERATOR_OUTBOUND_PROXY_EXTRA_KEYS",
    form: "extraKeys",
    default: [],
    value: "operator.outbound.proxy.extraKeys",
    where: "outpost",
    about: "keys of their extras that this cluster's API server is told, separated by commas"
  },
  peoplePrefix: {
    variable: "OPERATOR_OUTBOUND_PROXY_PREFIX",
    form: "userPrefix",
    default: "primary:",
    value: "operator.outbound.proxy.prefix",
    where: "outpost",
    about: "stands before the names of these users and groups in this cluster; `-`: none"
  },
  joinToken: {
    variable: "OPERATOR_OUTBOUND_TOKEN",
    form: "secret",
    about: "the token with which this member joins; the chart's `operator.outbound.token`, in a Secret"
  }
} as const satisfies SettingCard
