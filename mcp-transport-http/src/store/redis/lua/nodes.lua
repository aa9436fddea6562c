-- NODES is a sorted set of nodes by when each is dead. The inbox of a node is a stream of frames (f), each with how many
-- bytes had been sent with it (t), and a hash with how many were sent (s) and how many were taken (a).
local NODES = KEYS[1]

local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function inbox(node) return NODES .. ':' .. node, NODES .. ':' .. node .. ':n' end

local function is_alive(node)
  local dead = redis.call('ZSCORE', NODES, node)
  return dead and tonumber(dead) > now()
end

local function bury(node)
  redis.call('ZREM', NODES, node)
  redis.call('UNLINK', inbox(node))
end

-- Whether there was room.
local function put(node, frame, most, most_bytes)
  local frames, numbers = inbox(node)
  local r = redis.call('HMGET', numbers, 's', 'a')
  local sent, taken = tonumber(r[1] or 0), tonumber(r[2] or 0)
  local count = redis.call('XLEN', frames)
  if count > 0 and (count >= most or sent - taken + #frame > most_bytes) then return false end
  sent = sent + #frame
  redis.call('HSET', numbers, 's', sent)
  redis.call('XADD', frames, '*', 'f', frame, 't', sent)
  -- Should nobody come to bury it.
  local ttl = math.max(redis.call('ZSCORE', NODES, node) - now(), 0) + 1000
  redis.call('PEXPIRE', frames, ttl)
  redis.call('PEXPIRE', numbers, ttl)
  return true
end
