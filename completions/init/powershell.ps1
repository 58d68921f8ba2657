# dotbot in this shell: `dotbot wt switch <task>` changes its folder.
#   dotbot shell-init powershell | Out-String | Invoke-Expression
# PowerShell takes a bare -- away from functions: write '--' with its quotes.

function dotbot {
    $program = Get-Command -Name dotbot -CommandType Application -TotalCount 1 -ErrorAction Stop
    $file = $null
    if ($args -contains 'wt' -or $args -contains 'worktree') {
        $file = [System.IO.Path]::GetTempFileName()
        $env:DOTBOT_CD_FILE = $file
    }
    try {
        if ($MyInvocation.ExpectingInput) { $input | & $program @args } else { & $program @args }
    }
    finally {
        if ($file) {
            $code = $LASTEXITCODE
            Remove-Item -LiteralPath Env:DOTBOT_CD_FILE
            $folder = [System.IO.File]::ReadAllText($file)
            Remove-Item -LiteralPath $file
            if ($folder) { Set-Location -LiteralPath $folder }
            $global:LASTEXITCODE = $code
        }
    }
}

