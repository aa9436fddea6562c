-- ARGV: principal, node, version, the next stream; stream and last number of each that is open.
local _, node, version, following = unpack(ARGV, 1, 4)
if not held(node, version) then return 0 end
begin()
for _, stream in ipairs(redis.call('HKEYS', TRACKS)) do
  local number = tonumber(stream)
  if number and number >= tonumber(following) then drop_stream(stream) end
end
for i = 5, #ARGV, 2 do
  local stream, last = ARGV[i], tonumber(ARGV[i + 1])
  local t = track(stream) or {before = 0, last = 0, ended = 0}
  if last == 0 then
    drop_stream(stream)
  else
    local missing = t.last < last
    drop_events(stream, t, missing and 0 or last)
    redis.call('ZREM', ENDED, stream)
    put(stream, {before = missing and last or math.min(t.before, last), last = last, ended = 0})
  end
end
finish()
return 1
