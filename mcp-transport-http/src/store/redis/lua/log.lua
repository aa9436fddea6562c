-- The log of one session. TRACKS is a hash: for each stream `before last ended`, of whose events those after `before` and up to
-- `last` are here, and when it ended (0: it goes on); and the bytes of all (b), and the next place in their order (q).
-- EVENTS is a hash from `stream-number` to what was sent, ORDER a sorted set of these names, ENDED one of streams by time.
-- The rules are those of mcp_core::EventLog.
local OVERHEAD = 256
local bytes, place = 0, 0

local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function text(number) return string.format('%.0f', number) end

local function name(stream, number) return stream .. '-' .. text(number) end

local function begin()
  local r = redis.call('HMGET', TRACKS, 'b', 'q')
  bytes, place = tonumber(r[1] or 0), tonumber(r[2] or 0)
end

local function finish()
  redis.call('HSET', TRACKS, 'b', bytes, 'q', place)
  local ttl = redis.call('PTTL', SESSION)
  for i = 3, 6 do redis.call('PEXPIRE', KEYS[i], ttl) end
end

local function track(stream)
  local r = redis.call('HGET', TRACKS, stream)
  if not r then return nil end
  local before, last, ended = string.match(r, '^(%d+) (%d+) (%d+)$')
  return {before = tonumber(before), last = tonumber(last), ended = tonumber(ended)}
end

local function put(stream, t)
  redis.call('HSET', TRACKS, stream, text(t.before) .. ' ' .. text(t.last) .. ' ' .. text(t.ended))
end

local function drop_event(event)
  local length = redis.call('HSTRLEN', EVENTS, event)
  if redis.call('HDEL', EVENTS, event) == 1 then
    redis.call('ZREM', ORDER, event)
    bytes = bytes - length - OVERHEAD
  end
end

-- Its events after that one, as far as they are here.
local function drop_events(stream, t, after)
  for number = math.max(after, t.before) + 1, t.last do drop_event(name(stream, number)) end
end

local function drop_track(stream)
  redis.call('HDEL', TRACKS, stream)
  redis.call('ZREM', ENDED, stream)
end

local function drop_stream(stream)
  local t = track(stream)
  if t then drop_events(stream, t, 0) end
  drop_track(stream)
end

-- Drops the streams that ended too long ago.
local function drop_ended(resume)
  local over = redis.call('ZRANGEBYSCORE', ENDED, '-inf', text(now() - resume))
  for _, stream in ipairs(over) do drop_stream(stream) end
end

-- Drops the oldest events, and a stream that has ended with its last one.
local function make_room(most)
  while bytes > most do
    local event = redis.call('ZRANGE', ORDER, 0, 0)[1]
    if not event then return end
    drop_event(event)
    local stream, number = string.match(event, '^(%d+)-(%d+)$')
    local t = track(stream)
    if t then
      t.before = tonumber(number)
      if t.ended > 0 and t.before >= t.last then drop_track(stream) else put(stream, t) end
    end
  end
end
