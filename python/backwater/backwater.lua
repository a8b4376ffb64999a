-- Dissector for Backwater's frames without a standard format: EtherType 0x88B5 (IEEE 802, local
-- experimental 1). Usage: wireshark -X lua_script:backwater.lua FILE. The guide's page on exports
-- describes the fields.

local proto = Proto("backwater", "Backwater")

-- Protocols by hash of their names: 32-bit FNV-1a, upper half XOR lower half.
local names = {
  [0x7e91] = "pfc",
  [0x1394] = "pyrrha",
  [0x331b] = "bfc",
  [0x0e69] = "per-flow",
  [0x55a8] = "port-fc",
  [0x0c49] = "srcc",
  [0xe246] = "flb",
  [0x13b4] = "proteus",
}

local kinds = { [1] = "link-local", [2] = "notice", [3] = "telemetry" }
local rates = { [0] = 0, 10, 25, 40, 50, 100, 200, 400, 800, 1600 }

local f = {
  version = ProtoField.uint8("backwater.version", "Version", base.DEC, nil, 0xf0),
  kind = ProtoField.uint8("backwater.kind", "Kind", base.DEC, kinds, 0x0f),
  protocol = ProtoField.uint16("backwater.protocol", "Protocol", base.HEX, names),
  opcode = ProtoField.uint16("backwater.opcode", "Opcode", base.DEC),
  port = ProtoField.uint32("backwater.port", "Port", base.DEC),
  flow = ProtoField.uint32("backwater.flow", "Flow", base.DEC),
  node = ProtoField.uint32("backwater.to", "To node", base.DEC),
  word = ProtoField.uint32("backwater.word", "Field", base.DEC),
  count = ProtoField.uint8("backwater.stamps", "Stamps", base.DEC),
  rate = ProtoField.uint32("backwater.stamp.rate", "Rate, Gb/s (0: another one)", base.DEC),
  time = ProtoField.uint32("backwater.stamp.time", "Time, ns (24 bits)", base.DEC),
  sent = ProtoField.uint32("backwater.stamp.sent", "Bytes sent (20 bits of 128 B)", base.DEC),
  queue = ProtoField.uint32("backwater.stamp.queue", "Bytes in the queue", base.DEC),
}
proto.fields = f

local ip = Dissector.get("ip")

local function words(tvb, tree, from, number)
  for i = 0, number - 1 do
    tree:add(f.word, tvb(from + 4 * i, 4))
  end
end

-- Length from the stamps, unless zeros follow: an IPv4 header starts with 4.
local function telemetry_length(tvb)
  local length = 2 + 8 * tvb(1, 1):uint()
  while length < tvb:len() and tvb(length, 1):uint() ~= 0x45 do
    length = length + 1
  end
  return length
end

function proto.dissector(tvb, pinfo, tree)
  if tvb:len() < 2 then return 0 end
  local kind = tvb(0, 1):bitfield(4, 4)
  pinfo.cols.protocol = "Backwater"
  if kind == 3 then
    local length = telemetry_length(tvb)
    local item = tree:add(proto, tvb(0, length))
    item:add(f.version, tvb(0, 1))
    item:add(f.kind, tvb(0, 1))
    item:add(f.count, tvb(1, 1))
    for i = 0, tvb(1, 1):uint() - 1 do
      local at = 2 + 8 * i
      local stamp = item:add(tvb(at, 8), "Stamp " .. i)
      stamp:add(f.rate, tvb(at, 1), rates[tvb(at, 1):bitfield(0, 4)] or 0)
      stamp:add(f.time, tvb(at, 4), tvb(at, 4):bitfield(4, 24))
      stamp:add(f.sent, tvb(at + 3, 3), 128 * tvb(at + 3, 3):bitfield(4, 20))
      stamp:add(f.queue, tvb(at + 6, 2), 80 * tvb(at + 6, 2):uint())
    end
    if length < tvb:len() then
      ip:call(tvb(length):tvb(), pinfo, tree)
    end
    return tvb:len()
  end
  local item = tree:add(proto, tvb())
  item:add(f.version, tvb(0, 1))
  item:add(f.kind, tvb(0, 1))
  item:add(f.protocol, tvb(2, 2))
  local name = names[tvb(2, 2):uint()] or string.format("0x%04x", tvb(2, 2):uint())
  if kind == 1 then
    item:add(f.opcode, tvb(4, 2))
    words(tvb, item, 6, 3)
    pinfo.cols.info = string.format("%s, opcode %d", name, tvb(4, 2):uint())
  else
    item:add(f.port, tvb(4, 4))
    item:add(f.flow, tvb(8, 4))
    item:add(f.node, tvb(12, 4))
    words(tvb, item, 16, 4)
    local flow = tvb(8, 4):uint()
    -- Path probes have no flow.
    local about = flow == 0xffffffff and "" or string.format(" about flow %d", flow)
    pinfo.cols.info = string.format("notice of %s%s", name, about)
  end
  return tvb:len()
end

DissectorTable.get("ethertype"):add(0x88b5, proto)
