-- One session: a hash with its principal (p), who holds it (n), the version (v), the snapshot (s), and whether anything
-- has happened since it was released (d); the lease, a key that expires; and its log (see log.lua). ARGV[1] is the principal.
local SESSION, LEASE, TRACKS, EVENTS, ORDER, ENDED = unpack(KEYS)

-- The holder and the version, if there is such a session of that principal.
local function find()
  local r = redis.call('HMGET', SESSION, 'p', 'n', 'v')
  if r[1] ~= ARGV[1] then return nil end
  return r[2], tonumber(r[3])
end

-- Whether that node holds it, with nothing stored that is later than that version.
local function held(node, version)
  local holder, stored = find()
  return holder == node and stored <= tonumber(version)
end

local function expire(ms)
  for i = 1, 6 do
    if i ~= 2 then redis.call('PEXPIRE', KEYS[i], ms) end
  end
end

local function put_off(ms)
  if redis.call('PTTL', SESSION) < tonumber(ms) then expire(ms) end
end
