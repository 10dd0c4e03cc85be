"""A Discord bot that runs the blocks of code in messages that begin with !run."""

import asyncio
import os

import discord

import piston

SERVER = os.environ.get("PISTON_URL", "http://127.0.0.1:2000")

intents = discord.Intents.default()
intents.message_content = True
client = discord.Client(intents=intents)


@client.event
async def on_message(message):
    if message.author.bot or not message.content.startswith("!run"):
        return
    found = piston.read(message.content)
    if found is None:
        await message.reply("Write !run and a block with a language: \\`\\`\\`python")
        return
    async with message.channel.typing():
        try:
            answer = await asyncio.to_thread(piston.execute, SERVER, *found)
        except OSError as e:
            answer = {"message": f"the service does not answer ({e})"}
    await message.reply(piston.reply(answer), allowed_mentions=discord.AllowedMentions.none())


client.run(os.environ["DISCORD_TOKEN"])
